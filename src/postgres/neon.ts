/**
 * Postgres by way of Neon's HTTP endpoint: each statement is one POST, and no connection outlives it.
 *
 *   const query = neon(env.DATABASE_URL);
 *
 * It speaks what Neon's own driver speaks, without it: that brings a client for WebSockets along, 47 kB of a Worker.
 */
import { isRecord } from "../core/codec-checks.ts";
import type { Parameter, Query, QueryError, Row } from "../core/ports.ts";
import { parserOf } from "./columns.ts";
import { failedAfterSending, failedBeforeSending } from "./failure.ts";
import { readNeonAddress } from "./neon-address.ts";

export interface NeonOptions {
  /**
   * How long to wait for an answer, in milliseconds. Neon cancels what it was asked by a client that has left, unless it
   * has taken effect by then. Default: 15,000, so that a call can be sent once more within the 20 s that it has.
   */
  readonly timeoutMs?: number;
  /** Where statements are sent: that of Neon Local, `http://localhost:5432/sql`, or a proxy. Default: Neon's, by the host. */
  readonly fetchEndpoint?: string;
}

/**
 * A Query by Neon's HTTP endpoint. It holds no connection, so there is nothing to end.
 *
 * @param connectionString as Neon's console shows it, with the pooled host or without
 * @throws LayoverError `invalid_request` if that is no connection string, or leads to no such endpoint
 * @example const query = neon(env.DATABASE_URL, { timeoutMs: 5_000 });
 */
export function neon(connectionString: string, { timeoutMs = 15_000, fetchEndpoint }: NeonOptions = {}): Query {
  const address = readNeonAddress(connectionString, fetchEndpoint);
  const headers = {
    "Neon-Connection-String": address.connectionString,
    "Neon-Raw-Text-Output": "true",
    "Neon-Array-Mode": "true",
  };
  const query = async (text: string, parameters: readonly Parameter[] = []): Promise<readonly Row[]> => {
    const abort = new AbortController();
    const late = () => abort.abort(new Error(`Neon did not answer within ${timeoutMs} ms.`));
    const timer = setTimeout(late, timeoutMs);
    try {
      const params = parameters.map((value) => (value === null ? null : String(value)));
      const body = JSON.stringify({ query: text, params });
      // Not followed: the password would go along. "error" is unknown to Workers.
      const terms = { method: "POST", headers, body, redirect: "manual", signal: abort.signal } as const;
      const response = await fetch(address.fetchEndpoint, terms);
      if (!response.ok) throw await refusalOf(response);
      return rowsOf(await response.json());
    } catch (error) {
      throw failureOf(error);
    } finally {
      clearTimeout(timer);
    }
  };
  return Object.assign(query, { endpoint: address.endpoint });
}

interface Answer {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
  readonly rows: readonly (readonly (string | null)[])[];
}

function rowsOf(answer: unknown): readonly Row[] {
  if (!isAnswer(answer)) throw new Error("What answered is not Neon's endpoint: it sent no rows.");
  const columns = answer.fields.map(({ name, dataTypeID }) => [name, parserOf(dataTypeID)] as const);
  return answer.rows.map((row) =>
    Object.fromEntries(
      columns.map(([name, parse], index) => {
        const text = row[index] ?? null;
        return [name, text === null ? null : parse(text)];
      }),
    ),
  );
}

function isAnswer(answer: unknown): answer is Answer {
  return isRecord(answer) && Array.isArray(answer["rows"]) && Array.isArray(answer["fields"]);
}

/** Postgres' refusal is a 400 with all that Postgres said. Other statuses are Neon's own, or of something in between. */
async function refusalOf(response: Response): Promise<Error> {
  const text = await response.text();
  const said = response.status === 400 ? parsed(text) : undefined;
  if (isRecord(said) && typeof said["message"] === "string") return Object.assign(new Error(said["message"]), said);
  return new Error(`Neon answered ${response.status}: ${text.slice(0, 200)}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Only an answer of Postgres' own, or a request that was never made, tells that nothing happened. */
function failureOf(error: unknown): QueryError {
  const reason = reasonOf(error);
  return isUnsent(reason) ? failedBeforeSending(reason) : failedAfterSending(reason);
}

/** Node's `fetch` wraps what the network said: "fetch failed" tells nobody anything. */
function reasonOf(error: unknown): unknown {
  return error instanceof Error && error.cause instanceof Error ? reasonOf(error.cause) : error;
}

/** Node's words for a connection that could not be made. Other runtimes have none of their own for it. */
const unsent = new Set<unknown>(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

function isUnsent(reason: unknown): boolean {
  return reason instanceof Error && "code" in reason && unsent.has(reason.code);
}
