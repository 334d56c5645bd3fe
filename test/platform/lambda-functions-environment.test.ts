/**
 * What an environment of AWS Lambda keeps from one invocation to the next: parameters, the time, what it has armed,
 * secrets.
 */
import { once } from "node:events";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { secret } from "./a-worker.ts";
import { call, context, keyOf, PlayedLambda, start } from "./played-lambda.ts";

const database = testDatabase();
let lambda: PlayedLambda;

beforeEach(() => {
  lambda = new PlayedLambda(database);
});

describe("an environment", () => {
  test("reads its parameters once, all in one call", async () => {
    const of = lambda.functions();
    await start(of);
    await start(of);
    await of.tick({}, context);
    expect(lambda.reads).toBe(1);
  });

  test("asks for the time once, and again when it was away for more than five seconds", async () => {
    const of = lambda.functions();
    await start(of);
    await start(of);
    expect(lambda.statements).toEqual(["read_clock", "start_run", "start_run"]);
    lambda.ahead = { wall: 6_000, monotonic: 6_000 };
    await start(of);
    expect(lambda.statements.slice(3)).toEqual(["read_clock", "start_run"]);
  });

  test("arms while it asks for the time, so a start waits for both at once", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    lambda.mayTell = promise;
    const both = Promise.all([once(lambda.calls, "schedule"), once(lambda.calls, "read_clock")]);
    const started = start(lambda.functions());
    await both;
    expect(lambda.schedules).toHaveLength(1);
    expect(lambda.statements).toEqual(["read_clock"]);
    resolve();
    await started;
    expect(lambda.schedules).toHaveLength(1);
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
    lambda.ahead = { wall: wrongBy, monotonic: 0 };
    const of = lambda.functions();
    await start(of);
    expect(lambda.schedules).toHaveLength(2);
    const [guessed, known] = lambda.schedules.map(({ input }) => JSON.parse(input).readyUntil);
    expect(known - guessed).toBeGreaterThan(3_500_000);
    await clock.advance(6_000);
    lambda.ahead = { wall: wrongBy + 6_000, monotonic: 6_000 };
    const { promise, resolve } = Promise.withResolvers<void>();
    lambda.mayTell = promise;
    const asked = once(lambda.calls, "read_clock");
    const started = start(of);
    await asked;
    resolve();
    await started;
    // By the better guess the minute that it needs is armed already.
    expect(lambda.schedules).toHaveLength(2);
  });

  test("starts a run though nothing could be armed by the guess", async () => {
    lambda.refusing.add("schedule");
    const { promise, resolve } = Promise.withResolvers<void>();
    lambda.mayTell = promise;
    const started = start(lambda.functions());
    await expect.poll(() => lambda.statements.length).toBe(1);
    await new Promise((done) => setTimeout(done, 100));
    lambda.refusing.delete("schedule");
    resolve();
    expect(await started).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("arms anew what it had armed, once its clocks went apart while it was frozen", async () => {
    const of = lambda.functions();
    await start(of);
    const before = lambda.schedules.length;
    lambda.ahead = { wall: 3_000, monotonic: 0 };
    await start(of);
    expect(lambda.schedules.length).toBeGreaterThan(before);
    expect(lambda.statements.slice(2)).toEqual(["read_clock", "start_run"]);
  });

  test("arms one minute for all starts within it", async () => {
    const of = lambda.functions();
    for (let count = 0; count < 5; count += 1) await start(of);
    expect(lambda.schedules.length).toBeLessThanOrEqual(2);
  });

  test("tries again to read its parameters while AWS refuses, and answers 500 without SQL in the end", async () => {
    lambda.refusing.add("parameters");
    const { status, body } = await call(lambda.functions(), "POST", "/v1/workflows/still/runs", { body: {} });
    expect([status, body.code]).toEqual([500, "internal"]);
    expect(lambda.reads).toBe(5);
    expect(lambda.statements).toEqual([]);
  });

  test("names the parameter that is missing, to the operator alone", async () => {
    lambda.parameters.delete("/orders/secret");
    const { body } = await call(lambda.functions(), "GET", "/v1/runs");
    expect(lambda.reported[0]).toMatchObject({
      message: "the parameter /orders/secret does not exist in Systems Manager",
      hint: expect.stringContaining("aws ssm put-parameter"),
    });
    expect(JSON.stringify(body)).not.toContain("/orders");
  });
});

describe("a new secret", () => {
  const next = "YW5vdGhlciBzZWNyZXQgb2YgdGhpcyB0ZXN0LCBhcyBnb29kIGFzIHRoZSBmaXJzdA";

  test("is read when a request is refused that it signs", async () => {
    const of = lambda.functions();
    await start(of);
    lambda.parameters.set("/orders/secret", next).set("/orders/secret-old", secret);
    lambda.ahead = { wall: 61_000, monotonic: 61_000 };
    expect((await call(of, "GET", "/v1/runs", { key: keyOf(next) })).status).toBe(200);
    expect((await call(of, "GET", "/v1/runs", { key: keyOf(secret) })).status).toBe(200);
  });

  test("is looked for at most once a minute, however many forged keys come", async () => {
    const of = lambda.functions();
    for (let count = 0; count < 20; count += 1)
      expect((await call(of, "GET", "/v1/runs", { key: keyOf(next) })).status).toBe(401);
    expect(lambda.reads).toBe(1);
    lambda.ahead = { wall: 61_000, monotonic: 61_000 };
    for (let count = 0; count < 20; count += 1) await call(of, "GET", "/v1/runs", { key: keyOf(next) });
    expect(lambda.reads).toBe(2);
  });

  test("is not known while AWS refuses, and the old one stays in use", async () => {
    const of = lambda.functions();
    await start(of);
    lambda.refusing.add("parameters");
    lambda.ahead = { wall: 61_000, monotonic: 61_000 };
    expect((await call(of, "GET", "/v1/runs", { key: keyOf(next) })).status).toBe(401);
    expect((await call(of, "GET", "/v1/runs")).status).toBe(200);
  });
});
