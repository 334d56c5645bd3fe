/** The four handlers of AWS Lambda, and what an environment keeps from one invocation to the next. */
import { createHmac } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { workflow } from "layover";
import { dashboard } from "layover/dashboard";
import type { LambdaOptions } from "layover/lambda";
import { openapi } from "layover/openapi";
import { hmac, start as startRun, webhook } from "layover/webhooks";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { QueryError } from "../../src/core/ports.ts";
import { minuteMs, minuteOf, minuteRingsAt } from "../../src/core/waking.ts";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { Secrets } from "../../src/http/secrets.ts";
import type { OneShot } from "../../src/platform/lambda/aws/schedule.ts";
import type { QueuedMessage } from "../../src/platform/lambda/aws/send.ts";
import { functionsOf, type LambdaFunctions } from "../../src/platform/lambda/serve.ts";
import { hostClock } from "../../src/postgres/host-clock.ts";
import { testDatabase } from "../postgres/database.ts";
import { secret } from "./a-worker.ts";
import { lambdaEnv } from "./lambda-ground.ts";

const database = testDatabase();

const still = workflow({ name: "still", version: 1 }).handler(async ({ step }) => step.run("it", () => "done"));
const slow = workflow({ name: "slow", version: 1 }).handler(async ({ step }) => {
  await step.run("video", () => "done", { timeout: "16 minutes" });
});

/** How far each of the environment's clocks is ahead of this machine's, in milliseconds. */
let ahead: { wall: number; monotonic: number };
let parameters: Map<string, string>;
/** Whether each service refuses what it is asked. */
let refusing: Set<"invoke" | "ask" | "schedule" | "send" | "parameters">;
let statements: string[];
let invoked: { readonly name: string; readonly event: unknown }[];
let schedules: OneShot[];
let sent: QueuedMessage[];
let reads: number;
let reported: unknown[];
/** Resolves once the database may answer what its time is. */
let mayTell: Promise<void>;
/** Tells when the database is asked what its time is (`read_clock`), and when a schedule was made (`schedule`). */
let calls: EventEmitter;

beforeEach(() => {
  mayTell = Promise.resolve();
  calls = new EventEmitter();
  ahead = { wall: 0, monotonic: 0 };
  parameters = new Map([
    ["/orders/secret", secret],
    ["/orders/public-url", "https://example.com"],
  ]);
  refusing = new Set();
  [statements, invoked, schedules, sent, reported] = [[], [], [], [], []];
  reads = 0;
});

function functions(
  options: Partial<LambdaOptions> = {},
  variables: Record<string, string> = lambdaEnv,
): LambdaFunctions {
  const check = (service: "invoke" | "ask" | "schedule" | "send" | "parameters") => {
    if (refusing.has(service)) throw new Error(`${service} is refused`);
  };
  const query = Object.assign(
    async (...call: Parameters<typeof database.query>) => {
      const name = /layover\.(\w+)/.exec(call[0])?.[1] ?? call[0];
      statements.push(name);
      calls.emit(name);
      if (name === "read_clock") await mayTell;
      return await database.query(...call);
    },
    { endpoint: database.query.endpoint },
  );
  return functionsOf(
    { workflows: [still, slow], database: () => query, onError: (error) => reported.push(error), ...options },
    {
      host: {
        now: () => hostClock.now() + ahead.wall,
        monotonic: () => hostClock.monotonic() + ahead.monotonic,
        // Pauses last a second at most. What is longer is a limit, and holds: a database may well take 20 ms.
        after: (ms, act) => hostClock.after(ms > 1_000 ? ms : Math.min(ms, 20), act),
      },
      env: variables,
      engine: {},
      services: {
        invoke: async (name, event) => {
          check("invoke");
          invoked.push({ name, event: JSON.parse(event) });
        },
        ask: async (name, event) => {
          check("ask");
          invoked.push({ name, event: JSON.parse(event) });
        },
        schedule: async (schedule) => {
          check("schedule");
          schedules.push(schedule);
          calls.emit("schedule");
          return "created";
        },
        send: async (_, messages) => {
          check("send");
          sent.push(...messages);
          return [];
        },
        parameters: async (names) => {
          reads += 1;
          check("parameters");
          return new Map([...parameters].filter(([name]) => names.includes(name)));
        },
      },
    },
  );
}

const context = { awsRequestId: "request", getRemainingTimeInMillis: () => 900_000 };

function keyOf(root: string): string {
  return createApiKey(new Secrets([root]), { name: "me", namespace: "default", scopes });
}

async function call(
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

async function start(of: LambdaFunctions, name = "still"): Promise<string> {
  const { body } = await call(of, "POST", `/v1/workflows/${name}/runs`, { body: {} });
  return body.runId;
}

describe("a webhook", () => {
  const shop = webhook({
    name: "shop",
    verify: hmac({ header: "x-shop", secret: (env) => env["SHOP_SECRET"], delivery: "x-id" }),
    on: ({ event }) => startRun(still.contract, undefined, { id: Object(event).order }),
  });
  const deliver = async (of: LambdaFunctions, by: string) => {
    const body = '{"order":"o1"}';
    const headers = {
      host: "example.com",
      "x-id": "d1",
      "x-shop": createHmac("sha256", by).update(body).digest("hex"),
    };
    const request = { domainName: "example.com", http: { method: "POST", path: "/webhooks/shop" } };
    const event = { version: "2.0", rawPath: "/webhooks/shop", rawQueryString: "", headers, requestContext: request };
    const whole = { ...event, body: Buffer.from(body).toString("base64"), isBase64Encoded: true };
    const answer = await of.http(whole as unknown as Parameters<LambdaFunctions["http"]>[0], context);
    return [answer.statusCode, Object(JSON.parse(answer.body)).outcome];
  };

  test("has its secret from a parameter, starts a run and invokes what carries it out", async () => {
    parameters.set("/orders/shop-secret", "of the shop");
    const of = functions({ webhooks: [shop], parameters: ["shop-secret"] });
    expect(await deliver(of, "of somebody else")).toEqual([401, undefined]);
    expect(statements).toEqual([]);
    expect(await deliver(of, "of the shop")).toEqual([200, "done"]);
    expect(await deliver(of, "of the shop")).toEqual([200, "duplicate"]);
    expect(statements).toEqual(["read_clock", "receive_delivery", "receive_delivery"]);
    expect(invoked).toHaveLength(2); // the second dispatches it again, since nobody has claimed it
  });

  test("takes a new secret as soon as a request is refused that it signs", async () => {
    const of = functions({ webhooks: [shop], parameters: ["shop-secret"] });
    expect(await deliver(of, "new")).toEqual([401, undefined]);
    parameters.set("/orders/shop-secret", "new");
    ahead = { wall: 61_000, monotonic: 61_000 };
    expect((await deliver(of, "new"))[0]).toBe(200);
  });
});

describe("the dashboard", () => {
  const ask = async (of: LambdaFunctions, path: string, { cookies = [] as readonly string[], body = "" } = {}) => {
    const method = body === "" ? "GET" : "POST";
    const headers = { host: "example.com", "content-type": "application/json", origin: "https://example.com" };
    const requestContext = { domainName: "example.com", http: { method, path } };
    const event = { version: "2.0", rawPath: path, rawQueryString: "", headers, cookies, requestContext, body };
    const answer = await of.http(event as unknown as Parameters<LambdaFunctions["http"]>[0], context);
    const { statusCode: status, body: text, isBase64Encoded } = answer;
    return { status, cookies: Object(answer).cookies, text: isBase64Encoded ? atob(text) : text };
  };

  test("signs people in by the cookies of a function URL, without SQL, and shows them runs", async () => {
    const of = functions({ dashboard: dashboard({ title: "Shop" }) });
    const body = JSON.stringify({ key: keyOf(secret) });
    const { status, cookies } = await ask(of, "/dashboard/sign-in", { body });
    expect([status, cookies]).toEqual([200, [expect.stringMatching(/^__Host-layover-session=.*Secure/)]]);
    expect(statements).toEqual([]);
    const [cookie = ""] = cookies[0].split(";");
    const page = await ask(of, "/dashboard/", { cookies: [cookie] });
    expect([page.status, page.text]).toEqual([200, expect.stringContaining("<h1>Runs</h1>")]);
  });
});

test("the function http answers the OpenAPI document where it is mounted, without a statement if it is public", async () => {
  const of = functions({ openapi: openapi({ public: true }) });
  const request = { domainName: "example.com", http: { method: "GET", path: "/openapi.json" } };
  const event = { version: "2.0", rawPath: "/openapi.json", rawQueryString: "", headers: {}, requestContext: request };
  const answer = await of.http(event as unknown as Parameters<LambdaFunctions["http"]>[0], context);
  expect([answer.statusCode, statements]).toEqual([200, []]);
  expect(Object.keys(JSON.parse(answer.body).paths)).toContain("/v1/workflows/still/runs");
});

describe("an environment", () => {
  test("reads its parameters once, all in one call", async () => {
    const of = functions();
    await start(of);
    await start(of);
    await of.tick({}, context);
    expect(reads).toBe(1);
  });

  test("asks for the time once, and again when it was away for more than five seconds", async () => {
    const of = functions();
    await start(of);
    await start(of);
    expect(statements).toEqual(["read_clock", "start_run", "start_run"]);
    ahead = { wall: 6_000, monotonic: 6_000 };
    await start(of);
    expect(statements.slice(3)).toEqual(["read_clock", "start_run"]);
  });

  test("arms while it asks for the time, so a start waits for both at once", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    mayTell = promise;
    const both = Promise.all([once(calls, "schedule"), once(calls, "read_clock")]);
    const started = start(functions());
    await both;
    expect(schedules).toHaveLength(1);
    expect(statements).toEqual(["read_clock"]);
    resolve();
    await started;
    expect(schedules).toHaveLength(1);
  });

  test("arms again if its own clock was wrong, and guesses better the next time", async () => {
    // Amid a minute: near its end the next one would be armed, too.
    const clock = await database.turnClock();
    onTestFinished(async () => {
      await clock.set(Date.now());
      await clock.goOn();
    });
    const began = Math.floor(Date.now() / 60_000) * 60_000 + 20_000;
    await clock.set(began);
    const wrongBy = began - Date.now() - 3_600_000;
    ahead = { wall: wrongBy, monotonic: 0 };
    const of = functions();
    await start(of);
    expect(schedules).toHaveLength(2);
    const [guessed, known] = schedules.map(({ input }) => JSON.parse(input).readyUntil);
    expect(known - guessed).toBeGreaterThan(3_500_000);
    await clock.advance(6_000);
    ahead = { wall: wrongBy + 6_000, monotonic: 6_000 };
    const { promise, resolve } = Promise.withResolvers<void>();
    mayTell = promise;
    const asked = once(calls, "read_clock");
    const started = start(of);
    await asked;
    resolve();
    await started;
    // By the better guess the minute that it needs is armed already.
    expect(schedules).toHaveLength(2);
  });

  test("starts a run though nothing could be armed by the guess", async () => {
    refusing.add("schedule");
    const { promise, resolve } = Promise.withResolvers<void>();
    mayTell = promise;
    const started = start(functions());
    await expect.poll(() => statements.length).toBe(1);
    await new Promise((done) => setTimeout(done, 100));
    refusing.delete("schedule");
    resolve();
    expect(await started).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("arms anew what it had armed, once its clocks went apart while it was frozen", async () => {
    const of = functions();
    await start(of);
    const before = schedules.length;
    ahead = { wall: 3_000, monotonic: 0 };
    await start(of);
    expect(schedules.length).toBeGreaterThan(before);
    expect(statements.slice(2)).toEqual(["read_clock", "start_run"]);
  });

  test("arms one minute for all starts within it", async () => {
    const of = functions();
    for (let count = 0; count < 5; count += 1) await start(of);
    expect(schedules.length).toBeLessThanOrEqual(2);
  });

  test("tries again to read its parameters while AWS refuses, and answers 500 without SQL in the end", async () => {
    refusing.add("parameters");
    const { status, body } = await call(functions(), "POST", "/v1/workflows/still/runs", { body: {} });
    expect([status, body.code]).toEqual([500, "internal"]);
    expect(reads).toBe(5);
    expect(statements).toEqual([]);
  });

  test("names the parameter that is missing, to the operator alone", async () => {
    parameters.delete("/orders/secret");
    const { body } = await call(functions(), "GET", "/v1/runs");
    expect(reported[0]).toMatchObject({
      message: "the parameter /orders/secret does not exist in Systems Manager",
      hint: expect.stringContaining("aws ssm put-parameter"),
    });
    expect(JSON.stringify(body)).not.toContain("/orders");
  });
});

describe("a new secret", () => {
  const next = "YW5vdGhlciBzZWNyZXQgb2YgdGhpcyB0ZXN0LCBhcyBnb29kIGFzIHRoZSBmaXJzdA";

  test("is read when a request is refused that it signs", async () => {
    const of = functions();
    await start(of);
    parameters.set("/orders/secret", next).set("/orders/secret-old", secret);
    ahead = { wall: 61_000, monotonic: 61_000 };
    expect((await call(of, "GET", "/v1/runs", { key: keyOf(next) })).status).toBe(200);
    expect((await call(of, "GET", "/v1/runs", { key: keyOf(secret) })).status).toBe(200);
  });

  test("is looked for at most once a minute, however many forged keys come", async () => {
    const of = functions();
    for (let count = 0; count < 20; count += 1)
      expect((await call(of, "GET", "/v1/runs", { key: keyOf(next) })).status).toBe(401);
    expect(reads).toBe(1);
    ahead = { wall: 61_000, monotonic: 61_000 };
    for (let count = 0; count < 20; count += 1) await call(of, "GET", "/v1/runs", { key: keyOf(next) });
    expect(reads).toBe(2);
  });

  test("is not known while AWS refuses, and the old one stays in use", async () => {
    const of = functions();
    await start(of);
    refusing.add("parameters");
    ahead = { wall: 61_000, monotonic: 61_000 };
    expect((await call(of, "GET", "/v1/runs", { key: keyOf(next) })).status).toBe(401);
    expect((await call(of, "GET", "/v1/runs")).status).toBe(200);
  });
});

describe("turns", () => {
  test("carries out what was dispatched", async () => {
    const of = functions();
    const runId = await start(of);
    expect(invoked).toMatchObject([{ name: "turns", event: { turns: [{ runId, turn: 1 }] } }]);
    await of.turns(invoked[0]?.event, context);
    expect((await call(of, "GET", `/v1/runs/${runId}`)).body).toMatchObject({ status: "completed", result: "done" });
  });

  test("arms nothing that its sender has armed", async () => {
    await start(functions());
    const before = schedules.length;
    await functions().turns(invoked[0]?.event, context);
    expect(schedules.length).toBe(before);
  });

  test.each([undefined, {}, { turns: 3 }, { turns: [{ runId: "x", turn: 1 }] }, "rubbish"])(
    "reports an event that names no turn, and sends no statement (%j)",
    async (event) => {
      await functions().turns(event, context);
      expect(String(reported[0])).toContain("names no turn");
      expect(statements).toEqual([]);
    },
  );

  test("fails a step that may take longer than an invocation, without beginning it", async () => {
    const of = functions();
    const runId = await start(of, "slow");
    await of.turns(invoked[0]?.event, context);
    expect((await call(of, "GET", `/v1/runs/${runId}`)).body).toMatchObject({
      status: "failed",
      error: { cause: { code: "exceeds_host", message: expect.stringContaining('step "video" may take 960 s') } },
    });
  });
});

describe("tick", () => {
  test("that fails arms the next one by its own clock, and ends well", async () => {
    refusing.add("parameters");
    await functions().tick({ tries: 1 }, context);
    expect(schedules.map(({ input }) => JSON.parse(input))).toEqual([{ minute: expect.any(Number), tries: 2 }]);
    expect(reported).toHaveLength(1);
  });

  test("that fails tells the next one how far to look, since the database's clock may have been set back meanwhile", async () => {
    const of = functions();
    await of.tick({}, context); // the first one of a deployment looks at all runs
    const runId = await start(of);
    await database.pool.query(
      "update layover.run_state set due_at = layover.now() + interval '4 minutes' where run_id = $1",
      [runId],
    );
    [invoked, schedules] = [[], []];
    const minute = minuteOf(hostClock.now());
    refusing.add("parameters");
    await functions().tick({ minute, readyUntil: minuteRingsAt(minute) + 5 * minuteMs }, context);
    refusing.clear();
    await of.tick(JSON.parse(schedules[0]?.input ?? ""), context);
    expect(JSON.stringify(invoked)).toContain(runId);
  });

  test("that fails though the database's time is known arms one tick only, which knows of the tries", async () => {
    let isAway = false;
    const query: typeof database.query = Object.assign(
      async (...call: Parameters<typeof database.query>) => {
        if (isAway && call[0].includes("layover.list_due")) throw new QueryError("no", { isRolledBack: true });
        return await database.query(...call);
      },
      { endpoint: database.query.endpoint },
    );
    const of = functions({ database: () => query });
    await of.tick({}, context);
    isAway = true;
    schedules = [];
    ahead = { wall: 600_000, monotonic: 600_000 }; // what was armed has rung
    await of.tick({ tries: 2 }, context);
    expect(schedules.map(({ input }) => JSON.parse(input))).toEqual([{ minute: expect.any(Number), tries: 3 }]);
  });

  test("that fails and can arm nothing rejects, so that Lambda tries again", async () => {
    refusing.add("parameters").add("schedule");
    await expect(functions().tick({}, context)).rejects.toThrow("schedule is refused");
  });

  test("whose dispatch is refused arms the next one, and makes its runs due again", async () => {
    const of = functions();
    const runId = await start(of);
    await database.pool.query("update layover.run_state set due_at = layover.now() where run_id = $1", [runId]);
    refusing.add("invoke");
    schedules = [];
    await of.tick({}, context);
    expect(schedules.some(({ input }) => JSON.parse(input).tries === 1)).toBe(true);
    const { rows } = await database.pool.query(
      "select due_at < layover.now() + interval '2 minutes' as is_soon from layover.run_state where run_id = $1",
      [runId],
    );
    expect(rows).toEqual([{ is_soon: true }]);
  });

  test("looks after ten minutes at the latest at what Lambda took and nobody claimed, however often", async () => {
    const of = functions();
    await of.tick({}, context); // the first one of a deployment counts dispatches anew
    const runId = await start(of);
    await database.pool.query(
      "update layover.run_state set dispatches = 12, due_at = date_trunc('milliseconds', layover.now()) where run_id = $1",
      [runId],
    );
    await of.tick({}, context);
    const { rows } = await database.pool.query(
      `select dispatches, due_at > layover.now() + interval '2 minutes' and due_at <= layover.now() + interval '10 minutes'
         as is_backed_off from layover.run_state where run_id = $1`,
      [runId],
    );
    expect(rows).toEqual([{ dispatches: 13, is_backed_off: true }]);
  });

  describe("as the sweep", () => {
    const dueFor = async (of: LambdaFunctions, interval: string) => {
      await of.tick({}, context); // the first one of a deployment looks at all runs
      const runId = await start(of);
      await database.pool.query(
        "update layover.run_state set due_at = date_trunc('milliseconds', layover.now() - $2::interval) where run_id = $1",
        [runId, interval],
      );
    };
    const told = () => reported.map(String);

    test("tells of runs for which no alarm has rung", async () => {
      const of = functions();
      await dueFor(of, "4 minutes");
      await of.tick({ sweep: true }, context);
      expect(told()).toEqual([expect.stringContaining("1 run was due and no alarm rang for it")]);
    });

    test("says nothing of a run whose alarm may ring late yet", async () => {
      const of = functions();
      await dueFor(of, "50 seconds");
      await of.tick({ sweep: true }, context);
      expect(told()).toEqual([]);
    });

    test("says nothing if it is the first tick of a deployment, nor does any other tick", async () => {
      const of = functions();
      await dueFor(of, "4 minutes");
      await functions({ deployment: "another" }).tick({ sweep: true }, context);
      expect(told()).toEqual([]);
      await dueFor(of, "4 minutes");
      await of.tick({}, context);
      expect(told()).toEqual([]);
    });
  });

  test("names the variable that is missing", async () => {
    const { LAYOVER_TICK: _, ...others } = lambdaEnv;
    await expect(functions({}, others).tick({}, context)).rejects.toThrow("LAYOVER_TICK is missing");
  });
});

describe("forward", () => {
  const messages = (...bodies: unknown[]) => ({
    Records: bodies.map((body, index) => ({
      messageId: `m${index}`,
      body: typeof body === "string" ? body : JSON.stringify(body),
    })),
  });
  const turns = { turns: [{ runId: "019b796d-d62f-7fd1-8a65-ec2548bbcbbc", turn: 1 }] };

  test("hands on turns, and ticks", async () => {
    const tick = { minute: 3, tries: 1 };
    const of = functions();
    expect(await of.forward(messages({ to: "turns", event: turns }, { to: "tick", event: tick }), context)).toEqual({
      batchItemFailures: [],
    });
    expect(invoked).toEqual([
      { name: "turns", event: turns },
      { name: "tick", event: tick },
    ]);
  });

  test.each([{ minute: 3, readyUntil: 200_000 }, { sweep: true }])(
    "hands on the event of a schedule that could not invoke the function (%j)",
    async (event) => {
      await functions().forward(messages(event), context);
      expect(invoked).toEqual([{ name: "tick", event }]);
    },
  );

  test.each([
    [0, 60],
    [1, 120],
    [3, 480],
    [9, 900],
  ])("tries a tick that failed %i times before again after %i s", async (tries, delaySeconds) => {
    await functions().forward(messages({ requestContext: {}, requestPayload: { minute: 3, tries } }), context);
    expect(sent.map(({ body, ...rest }) => ({ ...rest, body: JSON.parse(body) }))).toEqual([
      { delaySeconds, body: { to: "tick", event: { minute: 3, tries: tries + 1 } } },
    ]);
  });

  test("has those come again that could not be handed on, and no others", async () => {
    refusing.add("invoke");
    const answer = await functions().forward(messages({ to: "turns", event: turns }, "rubbish"), context);
    expect(answer).toEqual({ batchItemFailures: [{ itemIdentifier: "m0" }] });
  });

  test("asks for a delivery until it is done: for 12 hours by messages of its own, and then by the queue", async () => {
    const [event, since] = [{ sealed: "1.x" }, Date.now()];
    const of = functions();
    refusing.add("ask");
    const delays = [];
    let message: unknown = { to: "turns", event, since };
    for (let tries = 0; tries < 7; tries += 1) {
      expect(await of.forward(messages(message), context)).toEqual({ batchItemFailures: [] });
      const [again] = sent.splice(0);
      delays.push(again?.delaySeconds);
      message = JSON.parse(again?.body ?? "");
      expect(message).toEqual({ to: "turns", event, since, tries: tries + 1 });
    }
    expect(delays).toEqual([10, 30, 90, 270, 810, 900, 900]);
    refusing.add("send");
    const toCome = { batchItemFailures: [{ itemIdentifier: "m0" }] };
    expect(await of.forward(messages(message), context)).toEqual(toCome);
    refusing.delete("send");
    ahead.wall = 12 * 3_600_000 + 1;
    expect(await of.forward(messages(message), context)).toEqual(toCome);
    expect(sent).toEqual([]);
    refusing.delete("ask");
    expect(await of.forward(messages(message), context)).toEqual({ batchItemFailures: [] });
    expect(invoked).toEqual([{ name: "turns", event }]);
  });

  test("reports what is no event, and lets it go", async () => {
    await functions().forward(messages("rubbish", { to: "nobody" }, { to: "turns", event: { turns: [] } }), context);
    expect(reported.map(String)).toEqual(Array(3).fill(expect.stringContaining("is no event")));
    expect(statements).toEqual([]);
  });
});

test.each([
  [{ batch: 0 }, "batch: 0"],
  [{ batch: 1_001 }, "batch: 1001"],
  [{ namespace: "no good" }, "namespace"],
  [{ leaseMs: 5 }, "leaseMs"],
  [{ parameters: ["1", "2", "3", "4", "5", "6", "7"] }, "11 names, with layover's own"],
] as const)("options that cannot be are refused when the module is loaded: %j", (options, message) => {
  expect(() => functions(options)).toThrow(message);
});
