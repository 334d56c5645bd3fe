/**
 * Postgres by way of Neon's HTTP driver: each statement is one request, and no connection outlives it.
 *
 *   const query = neon(env.DATABASE_URL);
 */
import { neon as connect, NeonDbError } from "@neondatabase/serverless";
import { LayoverError } from "../core/errors.ts";
import type { Parameter, Query, QueryError, Row } from "../core/ports.ts";
import { parserOf } from "./columns.ts";
import { endpointOf } from "./endpoint.ts";
import { failedAfterSending, failedBeforeSending } from "./failure.ts";

export interface NeonOptions {
  /**
   * How long to wait for an answer, in milliseconds. Neon cancels what it was asked by a client that has left, unless it
   * has taken effect by then. Default: 15,000, so that a call can be sent once more within the 20 s that it has.
   */
  readonly timeoutMs?: number;
}

/**
 * A Query by Neon's HTTP driver. It holds no connection, so there is nothing to end.
 *
 * @param connectionString as Neon's console shows it, with the pooled host or without
 * @throws LayoverError `invalid_request` if that is no connection string
 * @example const query = neon(env.DATABASE_URL, { timeoutMs: 5_000 });
 */
export function neon(connectionString: string, { timeoutMs = 15_000 }: NeonOptions = {}): Query {
  refuseBadAddress(connectionString);
  const sql = connect(connectionString);
  const query = async (text: string, parameters: readonly Parameter[] = []): Promise<readonly Row[]> => {
    const abort = new AbortController();
    const late = () => abort.abort(new Error(`Neon did not answer within ${timeoutMs} ms.`));
    const timer = setTimeout(late, timeoutMs);
    try {
      return await sql.query(text, [...parameters], { types, fetchOptions: { signal: abort.signal } });
    } catch (error) {
      throw failureOf(error);
    } finally {
      clearTimeout(timer);
    }
  };
  return Object.assign(query, { endpoint: endpointOf({ connectionString }) });
}

const types = { getTypeParser: parserOf };

/** Here, since the driver's own error would quote all of it, and with the first statement only. */
function refuseBadAddress(connectionString: unknown): void {
  if (typeof connectionString === "string" && isAddress(connectionString)) return;
  const isMissing = connectionString === undefined || connectionString === "";
  throw new LayoverError("invalid_request", `the connection string for neon() is ${isMissing ? "missing" : "none"}`, {
    hint: isMissing
      ? "Set the variable that it is read from, such as DATABASE_URL."
      : "It reads postgresql://user:password@host/database; write %40 for @ in the password, %2F for /, %23 for #, %3F for ?.",
  });
}

/** What the driver takes for one. */
function isAddress(connectionString: string): boolean {
  const [, rest] = /^postgres(?:ql)?:(.*)$/s.exec(connectionString) ?? [];
  const url = rest === undefined ? null : URL.parse(`http:${rest}`);
  return url !== null && url.username !== "" && url.pathname !== "/";
}

/** Only an answer of Postgres' own, or a request that was never made, tells that nothing happened. */
function failureOf(error: unknown): QueryError {
  const reason = reasonOf(error);
  return isUnsent(reason) ? failedBeforeSending(reason) : failedAfterSending(reason);
}

/** The driver wraps what `fetch` throws, and Node's `fetch` wraps what the network said: "fetch failed" tells nobody anything. */
function reasonOf(error: unknown): unknown {
  const inner = error instanceof NeonDbError ? error.sourceError : error instanceof Error ? error.cause : undefined;
  return inner instanceof Error ? reasonOf(inner) : error;
}

/** Node's words for a connection that could not be made. Other runtimes have none of their own for it. */
const unsent = new Set<unknown>(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

function isUnsent(reason: unknown): boolean {
  return reason instanceof Error && "code" in reason && unsent.has(reason.code);
}
