/**
 * The functions of AWS Lambda with services, clocks and parameters that a test plays, and calls of the function URL.
 */
import { EventEmitter } from "node:events";
import { workflow } from "layover";
import type { LambdaOptions } from "layover/lambda";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { Secrets } from "../../src/http/secrets.ts";
import type { OneShot } from "../../src/platform/lambda/aws/schedule.ts";
import type { QueuedMessage } from "../../src/platform/lambda/aws/send.ts";
import { functionsOf, type LambdaFunctions } from "../../src/platform/lambda/serve.ts";
import { hostClock } from "../../src/postgres/host-clock.ts";
import type { TestDatabase } from "../postgres/database.ts";
import { secret } from "./a-worker.ts";
import { lambdaEnv } from "./lambda-ground.ts";

export const still = workflow({ name: "still", version: 1 }).handler(async ({ step }) => step.run("it", () => "done"));
const slow = workflow({ name: "slow", version: 1 }).handler(async ({ step }) => {
  await step.run("video", () => "done", { timeout: "16 minutes" });
});

/** The functions of an environment of Lambda, and all that they are given and have asked for. Each test has its own. */
export class PlayedLambda {
  /** How far each of the environment's clocks is ahead of this machine's, in milliseconds. */
  ahead = { wall: 0, monotonic: 0 };
  readonly parameters = new Map([
    ["/orders/secret", secret],
    ["/orders/public-url", "https://example.com"],
  ]);
  /** Whether each service refuses what it is asked. */
  readonly refusing = new Set<"invoke" | "ask" | "schedule" | "send" | "parameters">();
  readonly statements: string[] = [];
  invoked: { readonly name: string; readonly event: unknown }[] = [];
  schedules: OneShot[] = [];
  readonly sent: QueuedMessage[] = [];
  reads = 0;
  readonly reported: unknown[] = [];
  /** Resolves once the database may answer what its time is. */
  mayTell = Promise.resolve();
  /** Tells when the database is asked what its time is (`read_clock`), and when a schedule was made (`schedule`). */
  readonly calls = new EventEmitter();
  readonly #database: TestDatabase;

  constructor(database: TestDatabase) {
    this.#database = database;
  }

  functions(options: Partial<LambdaOptions> = {}, variables: Record<string, string> = lambdaEnv): LambdaFunctions {
    const database = this.#database;
    const check = (service: "invoke" | "ask" | "schedule" | "send" | "parameters") => {
      if (this.refusing.has(service)) throw new Error(`${service} is refused`);
    };
    const query = Object.assign(
      async (...call: Parameters<typeof database.query>) => {
        const name = /layover\.(\w+)/.exec(call[0])?.[1] ?? call[0];
        this.statements.push(name);
        this.calls.emit(name);
        if (name === "read_clock") await this.mayTell;
        return await database.query(...call);
      },
      { endpoint: database.query.endpoint },
    );
    return functionsOf(
      { workflows: [still, slow], database: () => query, onError: (error) => this.reported.push(error), ...options },
      {
        host: {
          now: () => hostClock.now() + this.ahead.wall,
          monotonic: () => hostClock.monotonic() + this.ahead.monotonic,
          // Pauses last a second at most. What is longer is a limit, and holds: a database may well take 20 ms.
          after: (ms, act) => hostClock.after(ms > 1_000 ? ms : Math.min(ms, 20), act),
        },
        env: variables,
        engine: {},
        services: {
          invoke: async (name, event) => {
            check("invoke");
            this.invoked.push({ name, event: JSON.parse(event) });
          },
          ask: async (name, event) => {
            check("ask");
            this.invoked.push({ name, event: JSON.parse(event) });
          },
          schedule: async (schedule) => {
            check("schedule");
            this.schedules.push(schedule);
            this.calls.emit("schedule");
            return "created";
          },
          send: async (_, messages) => {
            check("send");
            this.sent.push(...messages);
            return [];
          },
          parameters: async (names) => {
            this.reads += 1;
            check("parameters");
            return new Map([...this.parameters].filter(([name]) => names.includes(name)));
          },
        },
      },
    );
  }
}

export const context = { awsRequestId: "request", getRemainingTimeInMillis: () => 900_000 };

export function keyOf(root: string): string {
  return createApiKey(new Secrets([root]), { name: "me", namespace: "default", scopes });
}

export async function call(
  of: LambdaFunctions,
  method: string,
  path: string,
  { key = keyOf(secret), body = undefined as unknown } = {},
) {
  const event = {
    version: "2.0",
    routeKey: "$default",
    rawPath: path,
    rawQueryString: "",
    headers: { host: "example.com", authorization: `Bearer ${key}`, "content-type": "application/json" },
    requestContext: { domainName: "example.com", http: { method, path } },
    body: body === undefined ? null : JSON.stringify(body),
    isBase64Encoded: false,
  };
  const answer = await of.http(event as unknown as Parameters<LambdaFunctions["http"]>[0], context);
  return { status: answer.statusCode, body: JSON.parse(answer.body) };
}

export async function start(of: LambdaFunctions, name = "still"): Promise<string> {
  const { body } = await call(of, "POST", `/v1/workflows/${name}/runs`, { body: {} });
  return body.runId;
}
