/**
 * What a platform must bring, shown by one that is made up here: a list of turns that wait to be delivered, alarms that
 * are written down, and a build. Nothing else of it is known to the invocations.
 */
import { expect, test } from "vitest";
import * as z from "zod";
import { workflow } from "../../src/core/contract/contract.ts";
import type { TurnRef } from "../../src/core/ports.ts";
import { Registry } from "../../src/engine/registry.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { beginInvocation, type InvocationOptions } from "../../src/platform/invocation/begin-invocation.ts";
import type { Dispatcher, DispatchTerms, InvocationHost } from "../../src/platform/invocation/host.ts";
import { DatabaseClock } from "../../src/postgres/database-clock.ts";
import { hostClock } from "../../src/postgres/host-clock.ts";
import { testDatabase } from "../postgres/database.ts";
import { secret } from "./a-worker.ts";

const database = testDatabase();

const add = workflow({ name: "add", version: 1, input: z.number(), output: z.number() });
const addWorkflow = add.handler(async ({ input, step }) => {
  const one = await step.run("one", () => input + 1);
  return await step.run("two", () => one + 1);
});

class Cloud {
  /** The turns that were dispatched and wait for an invocation. */
  turns: TurnRef[] = [];
  readonly alarms: number[] = [];
  readonly log: string[] = [];
  readonly given: DispatchTerms[] = [];
  isRefusing = false;
  readonly host: InvocationHost;

  constructor(given: Partial<InvocationHost> = {}) {
    this.host = {
      engine: { registry: new Registry([addWorkflow]) },
      namespace: crypto.randomUUID(),
      environment: "default",
      deployment: { name: "cloud", id: "build 1" },
      host: hostClock,
      clock: new DatabaseClock(hostClock),
      secrets: new Secrets([secret]),
      publicUrl: "https://cloud.example",
      database: () => {
        this.log.push("open");
        return Object.assign((...call: Parameters<typeof database.query>) => database.query(...call), {
          endpoint: database.query.endpoint,
          end: async () => void this.log.push("end"),
        });
      },
      invocation: { maxSteps: 1, budgetMs: 5_000 },
      alarm: async (instants) => void this.alarms.push(...instants.map(({ inMs }) => inMs)),
      dispatcherOf: (terms) => this.#dispatcher(terms),
      isDispatchedHere: false,
      report: (error) => {
        throw error;
      },
      ...given,
    };
  }

  begin(options: Partial<InvocationOptions> = {}) {
    const until = Date.now() + 60_000;
    return beginInvocation(this.host, { until: () => until, ...options });
  }

  /** Delivers turns, and what follows from them, until none waits. Answers in how many invocations. */
  async deliver(): Promise<number> {
    let invocations = 0;
    while (this.turns.length > 0) {
      invocations += 1;
      const turns = this.turns.splice(0);
      const { engine, end } = this.begin({ turns: turns.length, isDelivery: true });
      await engine.carryOut(turns);
      await end();
    }
    return invocations;
  }

  #dispatcher(terms: DispatchTerms): Dispatcher {
    this.given.push(terms);
    let isWhole = true;
    return {
      dispatch: async (turns) => {
        if (this.isRefusing) terms.onRefused(turns);
        else this.turns.push(...turns);
        isWhole &&= !this.isRefusing;
      },
      together: async (work) => await work(),
      get isWhole() {
        return isWhole;
      },
      settled: async () => void this.log.push("settled"),
    };
  }
}

test("a platform that brings a dispatcher, an alarm and a build carries a run to its end", async () => {
  const cloud = new Cloud();
  const { client, end } = cloud.begin();
  const run = await client.start(add, 40);
  expect(await end()).toBe(true);
  expect(cloud.turns).toMatchObject([{ runId: run.runId, turn: 1 }]);
  expect(cloud.alarms.length).toBeGreaterThan(0);
  expect(await cloud.deliver()).toBe(2);
  expect(await run.result()).toBe(42);
});

test("only an invocation that turns were delivered to may carry out what follows from them", () => {
  const cloud = new Cloud({ invocation: { maxSteps: 10, budgetMs: 5_000 } });
  cloud.begin();
  cloud.begin({ isDelivery: true });
  expect(cloud.given.map(({ here }) => here.steps)).toEqual([0, 10]);
});

test("turns that go together share the steps of their invocation", async () => {
  const cloud = new Cloud({ invocation: { maxSteps: 4, budgetMs: 5_000 } });
  const { client, end } = cloud.begin();
  const runs = [await client.start(add, 1), await client.start(add, 2)];
  await end();
  expect(await cloud.deliver()).toBe(1);
  expect(await Promise.all(runs.map((run) => run.result()))).toEqual([3, 4]);
});

test("the first tick of a build is noted once everything that it dispatched was taken", async () => {
  const noted: string[] = [];
  const cloud = new Cloud({ onFirstTick: () => noted.push("noted") });
  const { client, end } = cloud.begin();
  const run = await client.start(add, 1);
  await end();
  cloud.turns = [];
  const tick = async (): Promise<readonly [hasSeenAll: boolean, isTaken: boolean]> => {
    const invocation = cloud.begin();
    const answer = await invocation.tick();
    return [answer.hasSeenAll, await invocation.end()];
  };
  cloud.isRefusing = true;
  expect([await tick(), noted]).toEqual([[true, false], []]);
  cloud.isRefusing = false;
  expect([await tick(), noted]).toEqual([[true, true], ["noted"]]);
  expect(cloud.turns).toMatchObject([{ runId: run.runId }]);
  expect(await tick()).toEqual([false, true]);
});

test.each([
  [false, ["open", "end", "settled"]],
  [true, ["open", "settled", "end"]],
])("the connection is ended before the invocation waits, unless it works here itself (%s)", async (isHere, log) => {
  const cloud = new Cloud({ isDispatchedHere: isHere });
  const { client, end } = cloud.begin();
  await client.start(add, 1);
  await end();
  expect(cloud.log).toEqual(log);
});

test("an invocation that asks nothing opens no connection", async () => {
  const cloud = new Cloud();
  expect(await cloud.begin().end()).toBe(true);
  expect(cloud.log).toEqual(["settled"]);
});

test("where a tick may dispatch only so much, an alarm a minute later is for the rest", async () => {
  const cloud = new Cloud({ mostOfTick: { turns: 1, groups: 1 } });
  const { client, end } = cloud.begin();
  for (const input of [1, 2]) await client.start(add, input);
  await end();
  cloud.turns = [];
  cloud.alarms.length = 0;
  const { tick } = cloud.begin();
  expect(await tick()).toMatchObject({ dispatched: 1 });
  expect(cloud.turns).toHaveLength(1);
  expect(cloud.alarms.some((inMs) => inMs > 55_000 && inMs <= 60_000)).toBe(true);
});
