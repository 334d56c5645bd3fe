/**
 * Neon's HTTP endpoint in front of a Postgres of ours. As Neon's, it answers what Postgres refuses with 400 and
 * Postgres' fields, and cancels what a client that has left asked for. As Neon's sometimes, it misbehaves: but only
 * when told to.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { DatabaseError, Pool, type PoolClient } from "pg";
import * as z from "zod";

export interface NeonEndpoint {
  /** The database's own address, to be given to `neon`. */
  readonly url: string;
  /** Address to which `neon` sends its statements. */
  readonly fetchEndpoint: string;
  /** How many requests arrived, read or not. */
  readonly arrivals: number;
  /** The bodies of the requests that were carried out. */
  readonly bodies: readonly unknown[];
  /** Sets what becomes of the next requests, one fate each. All others are carried out and answered. */
  next(...fates: Fate[]): void;
  close(): Promise<void>;
}

/** One request and its answer, in the hands of a fate. */
interface Exchange {
  carryOut(): Promise<Answer>;
  answer(answer: Answer): void;
  answerHalf(answer: Answer): void;
  cut(): void;
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers?: OutgoingHttpHeaders;
}

export type Fate = (exchange: Exchange) => Promise<void>;

export const answered: Fate = async ({ carryOut, answer }) => answer(await carryOut());

/** Cuts the connection before the request is read. */
export const unread: Fate = async ({ cut }) => cut();

/** Carries the request out, and cuts the connection. */
export const unanswered: Fate = async ({ carryOut, cut }) => {
  await carryOut();
  cut();
};

/** Carries the request out, and cuts the connection amid the answer. */
export const halfAnswered: Fate = async ({ carryOut, answerHalf }) => answerHalf(await carryOut());

/** Makes a fate that refuses the request and does not carry it out. */
export function refused(status: number, body = "", headers: OutgoingHttpHeaders = {}): Fate {
  return async ({ answer }) => answer({ status, body, headers });
}

/** Makes a fate that carries the request out once the database is awake. */
export function asleep(untilAwake: Promise<unknown>): Fate {
  return async (exchange) => {
    await untilAwake;
    await answered(exchange);
  };
}

/** Makes a fate that carries the request out at once, and answers it later. */
export function late(until: Promise<unknown>): Fate {
  return async ({ carryOut, answer }) => {
    const outcome = await carryOut();
    await until;
    answer(outcome);
  };
}

/** `usually`: the fate of all requests for which none was set. Default: they are carried out and answered. */
export async function openNeonEndpoint(databaseUrl: string, usually: Fate = answered): Promise<NeonEndpoint> {
  const pools = new Pools(databaseUrl);
  const fates: Fate[] = [];
  const bodies: unknown[] = [];
  let arrivals = 0;
  const server = createServer((request, response) => {
    arrivals += 1;
    const fate = fates.shift() ?? usually;
    const read = async () => {
      const body = await json(request);
      bodies.push(body);
      return body;
    };
    fate({
      carryOut: async () => await carryOut(pools, request.headers, await read(), response),
      answer: ({ status, body, headers }) =>
        response.writeHead(status, { "content-type": "application/json", ...headers }).end(body),
      answerHalf({ status, body }) {
        response.writeHead(status, { "content-length": Buffer.byteLength(body) });
        response.write(body.slice(0, body.length / 2), () => request.socket.destroy());
      },
      cut: () => void request.socket.destroy(),
    }).catch((error: unknown) => response.writeHead(500).end(String(error)));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("A TCP server has an address with a port.");
  return {
    url: databaseUrl,
    fetchEndpoint: `http://127.0.0.1:${address.port}/sql`,
    get arrivals() {
      return arrivals;
    },
    bodies,
    next: (...more) => void fates.push(...more),
    async close() {
      const closed = once(server.close(), "close");
      server.closeAllConnections();
      await closed;
      await pools.end();
    },
  };
}

/** The pools of Neon's pooler: one for each connection string that clients send. */
class Pools {
  readonly #database: URL;
  readonly #pools = new Map<string, Pool>();

  constructor(databaseUrl: string) {
    this.#database = new URL(databaseUrl);
  }

  of(connectionString: string): Pool {
    const known = this.#pools.get(connectionString);
    if (known !== undefined) return known;
    const url = new URL(connectionString);
    url.host = this.#database.host;
    const pool = new Pool({ connectionString: url.href });
    pool.on("error", () => {});
    pool.on("connect", (client) => client.on("error", () => {})); // its test has ended, and so has its database
    this.#pools.set(connectionString, pool);
    return pool;
  }

  async end(): Promise<void> {
    await Promise.all([...this.#pools.values()].map(async (pool) => await pool.end()));
  }
}

const Headers = z.object({
  "neon-connection-string": z.string(),
  "neon-raw-text-output": z.literal("true"),
  "neon-array-mode": z.literal("true"),
});
const Batch = Headers.extend({
  "neon-batch-isolation-level": z.literal("ReadCommitted"),
  "neon-batch-read-only": z.literal("false"),
});
const Statement = z.strictObject({ query: z.string(), params: z.array(z.union([z.string(), z.null()])) });
const Body = z.union([Statement, z.strictObject({ queries: z.array(Statement) })]);
const asText = { getTypeParser: () => (text: string) => text };

async function carryOut(
  pools: Pools,
  headers: IncomingMessage["headers"],
  body: unknown,
  response: ServerResponse,
): Promise<Answer> {
  const asked = Body.parse(body);
  if ("queries" in asked) Batch.parse(headers);
  const pool = pools.of(Headers.parse(headers)["neon-connection-string"]);
  try {
    const client = await pool.connect();
    let cancelled: Promise<unknown> | undefined;
    const cancel = () => {
      const cancelling = pool.query("select pg_cancel_backend($1)", [Reflect.get(client, "processID")]);
      cancelled = cancelling.catch(() => {}); // the pool has ended
    };
    response.once("close", cancel);
    try {
      const answer = "queries" in asked ? { results: await inBatch(client, asked.queries) } : await one(client, asked);
      return { status: 200, body: JSON.stringify(answer) };
    } finally {
      response.off("close", cancel);
      await cancelled;
      client.release();
    }
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return { status: 400, body: JSON.stringify({ ...error, message: error.message }) };
  }
}

async function one(client: PoolClient, { query: text, params: values }: z.infer<typeof Statement>): Promise<object> {
  const statement = { text, values, rowMode: "array", types: asText, queryMode: "extended" } as const;
  const { command, rowCount, fields, rows } = await client.query(statement);
  return { rowAsArray: true, command, rowCount, fields, rows };
}

/** Carries out all of them in one transaction, or none. */
async function inBatch(
  client: PoolClient,
  statements: readonly z.infer<typeof Statement>[],
): Promise<readonly object[]> {
  await client.query("begin isolation level read committed read write");
  try {
    const answers: object[] = [];
    for (const statement of statements) answers.push(await one(client, statement));
    await client.query("commit");
    return answers;
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}
