/**
 * Checks the database: whether it can be reached, layover works with it, it was migrated, and this role may do its
 * work.
 */
import { LayoverError } from "../../core/errors.ts";
import { type Query, QueryError } from "../../core/ports.ts";
import { checkSchema } from "../../postgres/check-schema.ts";
import { missingRights, readServerFacts } from "../../postgres/server-facts.ts";
import { SetupError } from "../../postgres/setup-error.ts";
import { inspectTarget } from "../../postgres/target.ts";
import type { Diagnosis } from "../../postgres/wire-operator.ts";
import { type Database, databaseUrl, shownAddress, withDatabase } from "../database/database.ts";
import { environment, hasDevServer, namespace, setting } from "../settings.ts";
import { UsageError } from "../usage-error.ts";
import type { Check } from "./check.ts";
import { checkDeployments, checkVersions } from "./check-deployments.ts";
import {
  checkClock,
  checkClosing,
  checkContracts,
  checkEnvironment,
  checkPauses,
  checkRuns,
  checkUndos,
} from "./check-runs.ts";
import { checkSchedules } from "./check-schedules.ts";

const oldest = 15;
const newest = 18;

/** What the database told, for the checks that come after these. */
export interface DatabaseCheck {
  readonly checks: readonly Check[];
  readonly revokedKeys: ReadonlySet<string>;
}

export async function checkDatabase(endpoint: string | undefined): Promise<DatabaseCheck> {
  const checks: Check[] = [];
  const revokedKeys = new Set<string>();
  if (setting("DATABASE_URL") === undefined && hasDevServer()) {
    const says = "DATABASE_URL is not set. (That of layover dev is its own, and cannot be looked into.)";
    return { checks: [{ about: "database", level: "warning", says }], revokedKeys };
  }
  try {
    await withDatabase(
      async (database) => {
        for await (const check of look(database, revokedKeys)) checks.push(check);
      },
      { endpoint },
    );
  } catch (error) {
    checks.push(failed(error));
  }
  return { checks, revokedKeys };
}

function failed(error: unknown): Check {
  if (error instanceof UsageError) {
    return { about: "database", level: "problem", says: error.message, todo: error.hint };
  }
  if (error instanceof LayoverError) {
    return { about: "database", level: "problem", says: `It failed: ${error.message}.`, todo: error.hint };
  }
  if (error instanceof QueryError) return { about: "database", level: "problem", says: `It failed: ${error.message}.` };
  throw error;
}

async function* look({ query, calls }: Database, revokedKeys: Set<string>): AsyncGenerator<Check> {
  yield await checkServer(query);
  const { schema, isThere } = await checkSchemaOf(query);
  yield schema;
  if (!isThere) return;
  const rights = await checkRights(query);
  yield rights;
  if (rights.level === "problem") return;
  await calls.now();
  const asked = Date.now();
  const diagnosis: Diagnosis = await calls.diagnose();
  yield checkClock(diagnosis.now, (asked + Date.now()) / 2);
  const here = { namespace: namespace(), environment: environment(), endpoint: calls.endpoint };
  yield checkEnvironment(diagnosis, here);
  yield* checkDeployments(diagnosis);
  yield* checkVersions(diagnosis);
  yield* checkRuns(diagnosis);
  yield* checkPauses(diagnosis);
  yield* checkClosing(diagnosis);
  yield* checkUndos(diagnosis);
  yield* checkContracts(diagnosis);
  yield* checkSchedules(diagnosis);
  const { keys } = await calls.listKeys();
  for (const { keyId, revokedAt } of keys) if (revokedAt !== null) revokedKeys.add(keyId);
}

async function checkServer(query: Query): Promise<Check> {
  const asked = performance.now();
  const { version, isReadOnly } = await readServerFacts(query);
  const ms = Math.ceil(performance.now() - asked);
  const url = databaseUrl();
  const facts = { version, isReadOnly, address: shownAddress(url) };
  const about = "database";
  const major = Number.parseInt(version, 10);
  if (isReadOnly) {
    const todo = "Use the address of the primary, not of a replica.";
    return { about, level: "problem", says: `${facts.address} is read-only.`, todo, facts };
  }
  if (major < oldest) {
    const todo = `Upgrade it: layover works with ${oldest} to ${newest}.`;
    return { about, level: "problem", says: `${facts.address} is PostgreSQL ${version}.`, todo, facts };
  }
  const says = `${facts.address} is PostgreSQL ${version}, ${ms} ms away.`;
  if (major > newest) {
    return { about, level: "warning", says, todo: `layover was tried with ${oldest} to ${newest}.`, facts };
  }
  const isPooled = /-pooler\./.test(url.hostname) || url.port === "6543";
  const todo = isPooled
    ? "That is a pooler. In transaction mode, use node-postgres as pg(pool, { prepare: false })."
    : undefined;
  return { about, level: "well", says, todo, facts };
}

/** `isThere`: enough of it to go on. */
async function checkSchemaOf(query: Query): Promise<{ readonly schema: Check; readonly isThere: boolean }> {
  const about = "schema";
  const problem = (says: string, todo?: string): Check => ({ about, level: "problem", says, todo });
  const run = "Run layover migrate.";
  try {
    const { isOurs } = await inspectTarget(query);
    if (!isOurs) return { schema: problem("layover was not set up in this database.", run), isThere: false };
    const { isUsable, missing, problems } = await checkSchema(query);
    const isThere = missing.length === 0;
    if (!isUsable) {
      const says = problems.map((text) => text.replace(/: run migrate\.$/, "."));
      const todo = says.some((text, index) => text !== problems[index]) ? run : undefined;
      return { schema: problem(says.join(" "), todo), isThere };
    }
    return { schema: { about, level: "well", says: "It is as this version of layover needs it." }, isThere };
  } catch (error) {
    if (error instanceof SetupError) return { schema: problem(error.message), isThere: false };
    if (!(error instanceof QueryError && error.sqlState === "42501")) throw error;
    const says = "This role may not see which migrations were applied.";
    const todo = "Ask as the role that runs layover migrate.";
    return { schema: { about, level: "warning", says, todo }, isThere: true };
  }
}

async function checkRights(query: Query): Promise<Check> {
  const about = "role";
  const { role } = await inspectTarget(query);
  const missing = await missingRights(query);
  const lacks = [
    ...(missing.schema ? ["usage on schema layover"] : []),
    ...missing.functions.map((name) => `execute on ${name}`),
  ];
  if (lacks.length === 0) return { about, level: "well", says: `"${role}" may do what a deployment does.` };
  const shown = lacks.length > 4 ? `${lacks.slice(0, 4).join(", ")} and ${lacks.length - 4} more` : lacks.join(", ");
  return {
    about,
    level: "problem",
    says: `"${role}" lacks ${shown}.`,
    todo: `Run layover migrate --roles as the role that runs layover migrate, then this: grant layover_runtime to "${role}";`,
    facts: { role, lacks },
  };
}
