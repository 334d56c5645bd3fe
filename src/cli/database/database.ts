/** A connection to the database that DATABASE_URL names, for the length of one command. */
import type { Client, ClientConfig } from "pg";
import { type Query, QueryError } from "../../core/ports.ts";
import { type Calls, makeCalls } from "../../postgres/calls.ts";
import { decode } from "../../postgres/endpoint.ts";
import { pg } from "../../postgres/pg.ts";
import { namespace as namespaceHere, setting } from "../settings.ts";
import { UsageError } from "../usage-error.ts";
import { connectFailure } from "./connect-failure.ts";

export interface Database {
  readonly client: Client;
  readonly query: Query;
  readonly calls: Calls;
}

const connectMs = 10_000;

export interface DatabaseOptions {
  /** What the deployment calls this database, where that is not what DATABASE_URL says. */
  readonly endpoint?: string | undefined;
  /** Default: LAYOVER_NAMESPACE. */
  readonly namespace?: string | undefined;
}

/** @throws UsageError where it cannot be reached, or was not migrated */
export async function withDatabase<Result>(
  work: (database: Database) => Promise<Result>,
  { endpoint, namespace = namespaceHere() }: DatabaseOptions = {},
): Promise<Result> {
  const url = databaseUrl();
  const client = await connected(url);
  try {
    const query = pg(client, { prepare: false, ...(endpoint !== undefined && { endpoint }) });
    // It only reads and writes what concerns no run under way, so it arms nothing.
    const calls = makeCalls({ query, namespace, alarm: async () => {} });
    return await work({ client, query, calls });
  } catch (error) {
    throw error instanceof QueryError ? queryFailure(error, url) : error;
  } finally {
    await client.end().catch(() => {});
  }
}

/** @throws UsageError */
export function databaseUrl(): URL {
  const text = setting("DATABASE_URL");
  const hint = "Write it as postgres://USER:PASSWORD@HOST:5432/DATABASE, in the environment or in .env.";
  if (text === undefined) throw new UsageError("DATABASE_URL is not set.", { hint });
  const url = URL.canParse(text) ? new URL(text) : undefined; // its error would quote the password
  if (url !== undefined && /^postgres(ql)?:$/.test(url.protocol) && url.hostname !== "") return url;
  throw new UsageError("DATABASE_URL is no address of a Postgres.", {
    hint: `${hint} In the password, write @ as %40, / as %2F, # as %23, and % as %25.`,
  });
}

/** Host and database, without what is secret. */
export function shownAddress(url: URL): string {
  return `${url.host}${url.pathname}`;
}

async function connected(url: URL): Promise<Client> {
  const { Client } = await importPg();
  const config: ClientConfig = {
    connectionString: withPlainTls(url).href,
    connectionTimeoutMillis: connectMs,
    application_name: "layover",
  };
  const client = new Client(config);
  client.on("error", () => {}); // whoever waits for an answer is told of it, too
  try {
    await client.connect();
    return client;
  } catch (cause) {
    await client.end().catch(() => {});
    throw connectFailure(cause, url);
  }
}

/** Writes `verify-full` for modes that mean the same to node-postgres. It prints a long warning for all others. */
function withPlainTls(url: URL): URL {
  const copy = new URL(url);
  const mode = copy.searchParams.get("sslmode") ?? "";
  if (/^(prefer|require|verify-ca)$/.test(mode) && !copy.searchParams.has("uselibpqcompat")) {
    copy.searchParams.set("sslmode", "verify-full");
  }
  return copy;
}

async function importPg(): Promise<Pick<typeof import("pg"), "Client">> {
  try {
    return (await import("pg")).default;
  } catch (cause) {
    if (!(cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND")) throw cause;
    throw new UsageError("The package pg is not installed, by which this command talks to Postgres.", {
      hint: "Install it: npm install --save-dev pg",
      cause,
    });
  }
}

/** What a statement fails by, whichever the command. */
function queryFailure(error: QueryError, url: URL): Error {
  const where = shownAddress(url);
  switch (error.sqlState) {
    case "3F000":
    case "42P01":
    case "42883":
      return new UsageError(`The database ${where} was not migrated to this version of layover.`, {
        hint: "Run layover migrate.",
        cause: error,
      });
    case "42501":
      return new UsageError(`The role "${decode(url.username)}" may not do this: ${error.message}.`, {
        hint: "Use the role that ran layover migrate, or have it grant the rights: layover doctor says which.",
        cause: error,
      });
    case "25006":
      return new UsageError(`The database ${where} is read-only.`, {
        hint: "Use the address of the primary, not of a replica.",
        cause: error,
      });
    case undefined:
    case "57P01":
    case "57P02":
      return new UsageError(`The connection to ${where} broke: ${error.message}.`, {
        hint: "Try again: whatever was sent may be sent again.",
        cause: error,
      });
    default:
      return error;
  }
}
