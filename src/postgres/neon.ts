/**
 * Postgres by Neon's driver over HTTP. Each statement is one POST, and no connection outlives it.
 *
 *   const query = neon(env.DATABASE_URL);
 */
import { neon as driverFor, NeonDbError, neonConfig } from "@neondatabase/serverless";
import { LayoverError } from "../core/errors.ts";
import { type Parameter, type Query, QueryError, type Row, type Transact, UnknownCommit } from "../core/ports.ts";
import { parserOf } from "./columns.ts";
import { failedAfterSending, failedBeforeSending } from "./failure.ts";
import { readNeonAddress } from "./neon-address.ts";
import { OpenTransaction, type Statement } from "./transaction-client.ts";

export interface NeonOptions {
  /**
   * How long to wait for an answer, in milliseconds. After that Neon cancels the statement, unless it has taken effect
   * already. Default: 15,000, so that a call can be sent a second time within its 20 s.
   */
  readonly timeoutMs?: number;
  /**
   * The address that statements are sent to, such as `http://localhost:5432/sql` of Neon Local, or a proxy. Default:
   * Neon's own, found by the host.
   */
  readonly fetchEndpoint?: string;
}

const types = { getTypeParser: parserOf };

/**
 * Makes a Query by Neon's HTTP endpoint, through `@neondatabase/serverless`. It holds no connection, so nothing has to
 * be closed. The transaction of a step is one request, so its body may only `write`.
 *
 * @param connectionString as Neon's console shows it, with the pooled host or without
 * @throws LayoverError `invalid_request` if it is no connection string or leads to no host of Neon's, or if `fetchEndpoint` is no address
 * @example const query = neon(env.DATABASE_URL, { timeoutMs: 5_000 });
 */
export function neon(connectionString: string, { timeoutMs = 15_000, fetchEndpoint }: NeonOptions = {}): Query {
  const address = readNeonAddress(connectionString, fetchEndpoint);
  const driver = driverFor(address.connectionString);
  if (fetchEndpoint !== undefined) followFetchEndpoints();
  const send = async <Answer>(ask: (fetchOptions: object) => Promise<Answer>): Promise<Answer> => {
    const abort = new AbortController();
    const late = () => abort.abort(new Error(`Neon did not answer within ${timeoutMs} ms.`));
    const timer = setTimeout(late, timeoutMs);
    // A redirection is not followed: the password would be sent along. Workers do not know the value "error".
    const fetchOptions = {
      redirect: "manual",
      signal: abort.signal,
      ...(fetchEndpoint && { [elsewhere]: fetchEndpoint }),
    };
    try {
      return await ask(fetchOptions);
    } catch (error) {
      throw failureOf(
        abort.signal.aborted ? abort.signal.reason : error,
        fetchEndpoint === undefined && address.endpoint,
      );
    } finally {
      clearTimeout(timer);
    }
  };
  const query = (text: string, parameters: readonly Parameter[] = []): Promise<readonly Row[]> =>
    send((fetchOptions) => driver.query(text, [...parameters], { fetchOptions, types }));
  const sendBatch = async (statements: readonly Statement[]): Promise<readonly Row[]> => {
    const queries = statements.map(({ text, values }) => driver.query(text, [...values], { types }));
    const terms = { isolationLevel: "ReadCommitted", readOnly: false } as const;
    const answers = await send((fetchOptions) => driver.transaction(queries, { ...terms, fetchOptions }));
    return answers.at(-1) ?? [];
  };
  return Object.assign(query, { endpoint: address.endpoint, transact: neonTransact(sendBatch) });
}

/** Sends all that a body has written in one request, with the step's record last. */
function neonTransact(sendBatch: (statements: readonly Statement[]) => Promise<readonly Row[]>): Transact {
  return async (limitMs, work) => {
    const open = new OpenTransaction(() => Promise.reject(rowless()));
    try {
      return await work(open, async (text, values) => {
        const limit = { text: `set local statement_timeout = ${Math.ceil(limitMs)}`, values: [] };
        try {
          return await sendBatch([limit, ...open.takeWrites(), { text, values }]);
        } catch (error) {
          throw unlessRolledBack(error);
        }
      });
    } finally {
      open.close();
    }
  };
}

function rowless(): LayoverError {
  return new LayoverError("transactions_unavailable", "Neon over HTTP cannot answer amid a transaction", {
    hint: "Use db.write(text, values), which is sent with the step's record. Or read in a step before it.",
  });
}

function unlessRolledBack(error: unknown): unknown {
  if (error instanceof QueryError && error.isRolledBack) return error;
  const said = error instanceof Error ? error.message : String(error);
  return new UnknownCommit(`nobody knows whether the transaction was committed: ${said}`, { cause: error });
}

const elsewhere = "layoverFetchEndpoint";
let followsFetchEndpoints = false;

/**
 * Lets each request go to the address in its own options. The driver has one address for all its users in the process,
 * but it hands the options of each query to its `fetchFunction`.
 */
function followFetchEndpoints(): void {
  if (followsFetchEndpoints) return;
  followsFetchEndpoints = true;
  const before: typeof fetch | undefined = neonConfig.fetchFunction;
  neonConfig.fetchFunction = (address: string, options: RequestInit & { readonly [elsewhere]?: string }) => {
    const { [elsewhere]: fetchEndpoint = address, ...request } = options;
    return (before ?? fetch)(fetchEndpoint, request);
  };
}

/** Makes the error. Only an answer of Postgres itself, or a request that was never made, shows that nothing happened. */
function failureOf(error: unknown, endpoint: string | false): QueryError {
  const found = reasonOf(error);
  const reason = endpoint !== false && mayBeOfOthers(endpoint, found) ? ofOthers(endpoint, found) : found;
  return isUnsent(found) ? failedBeforeSending(reason) : failedAfterSending(reason);
}

/**
 * Whether the address may belong to another Postgres: no Postgres has answered, and the host's name is none of Neon's.
 */
function mayBeOfOthers(endpoint: string, reason: unknown): boolean {
  return !(reason instanceof NeonDbError) && !/\bneon\b|\.vercel-storage\.com\//.test(endpoint);
}

function ofOthers(endpoint: string, cause: unknown): Error {
  const [host] = endpoint.split("/");
  const said = cause instanceof Error ? cause.message : String(cause);
  return new Error(
    `${said} (neon() only reaches databases of Neon, and ${host} is no host of Neon's by its name: for any other Postgres use pg() of layover/pg, with nodejs_compat)`,
    { cause },
  );
}

/**
 * Finds what the network said. The driver and Node's `fetch` wrap it in errors such as "fetch failed", which say
 * nothing.
 */
function reasonOf(error: unknown): unknown {
  if (error instanceof NeonDbError) {
    if (error.sourceError !== undefined) return reasonOf(error.sourceError);
    // A proxy may answer with a whole page.
    return error.code === undefined ? new Error(`Neon's endpoint failed: ${error.message.slice(0, 250)}`) : error;
  }
  if (error instanceof Error && error.cause instanceof Error) return reasonOf(error.cause);
  return error instanceof SyntaxError || error instanceof TypeError
    ? new Error(`What answered is not Neon's endpoint, or broke off: ${error.message}`)
    : error;
}

/** Node's words for a connection that could not be made. Other runtimes have none of their own for it. */
const unsent = new Set<unknown>(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

function isUnsent(reason: unknown): boolean {
  return reason instanceof Error && "code" in reason && unsent.has(reason.code);
}
