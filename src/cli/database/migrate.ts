/** `layover migrate`: brings the database of DATABASE_URL to what this version of layover needs. */
import { Command, Option } from "commander";
import {
  type Blocker,
  migrate as bringUp,
  checkSchema,
  makeRoles,
  migrationSql,
  type Wait,
} from "../../postgres/migrate.ts";
import { print, printAside, printJson } from "../screen.ts";
import { UsageError } from "../usage-error.ts";
import { type Database, databaseUrl, shownAddress, withDatabase } from "./database.ts";

interface Options {
  readonly sql?: true;
  readonly check?: true;
  readonly roles?: true;
  readonly json?: true;
}

export const migrate = new Command("migrate")
  .summary("brings your database up to date")
  .description(
    `Brings the database of DATABASE_URL to what this version of layover needs, while runs go on. Runs any number of times,
and may be ended at any time: the next one goes on from there. Where others hold a lock that it needs, it says who.`,
  )
  .addOption(
    new Option("--sql", "print the SQL instead, for whoever runs it by hand").conflicts(["check", "json", "roles"]),
  )
  .option("--check", "change nothing, and fail if something is to be done (before a deployment)")
  .addOption(
    new Option(
      "--roles",
      "also make the roles layover_owner, layover_runtime (calls layover, reads no table) and layover_reader",
    ).conflicts("check"),
  )
  .option("--json", "answer as JSON")
  .addHelpText("after", "\nExamples:\n  layover migrate\n  layover migrate --sql > layover.sql")
  .action(async ({ sql, check, roles, json }: Options) => {
    if (sql) process.stdout.write(migrationSql());
    else await withDatabase((database) => (check ? checked(database, json) : migrated(database, { roles, json })));
  });

async function migrated(
  { client }: Database,
  { roles = false, json = false }: { readonly roles?: boolean | undefined; readonly json?: boolean | undefined },
): Promise<void> {
  const onWait = noteWait();
  const done = await bringUp(client, { onWait });
  if (roles) await makeRoles(client, { onWait });
  if (json) return printJson(done);
  const { applied, functions } = done;
  const what = [...applied, ...(functions > 0 ? [`${functions} functions`] : [])].join(", ");
  const where = shownAddress(databaseUrl());
  print(what === "" ? `${where} is up to date.` : `${where} has now ${what}.`);
  if (roles) print('The roles are made. What your deployments need: grant layover_runtime to "THEIR_ROLE";');
}

/** Tells of each wait for a table. It tells only once of another migrate, which is asked four times a second. */
function noteWait(): (wait: Wait) => void {
  let last = "";
  return (wait) => {
    const said = shownWait(wait);
    if (wait.reason === "locked" || said !== last) printAside(said);
    last = said;
  };
}

function shownWait({ reason, file, blockers, pauseMs }: Wait): string {
  const who = blockers.map((blocker) => shownBlocker(blocker, reason)).join(", ");
  if (reason === "migrating")
    return `Another migrate of this database is under way${who && `: ${who}`}. Waiting for it.`;
  const by = who === "" ? "by transactions that have ended since" : `by ${who}`;
  return `${file} needs a lock that is held ${by}. Next try in ${pauseMs / 1000} s; runs go on meanwhile.`;
}

function shownBlocker({ pid, application, openMs }: Blocker, reason: Wait["reason"]): string {
  if (pid === null) return "a prepared transaction (pg_prepared_xacts)";
  const open = reason === "locked" && openMs !== null ? `, open for ${Math.round(openMs / 1000)} s` : "";
  return `process ${pid} (${application || "without a name"}${open})`;
}

async function checked({ query }: Database, json = false): Promise<void> {
  const found = await checkSchema(query);
  const where = shownAddress(databaseUrl());
  if (json) printJson(found);
  else if (found.isUsable) print(`${where} is as this version of layover needs it.`);
  if (found.isUsable) return;
  if (json) process.exitCode = 1;
  else
    throw new UsageError(`${where} is not as this version of layover needs it.`, { hint: found.problems.join("\n") });
}
