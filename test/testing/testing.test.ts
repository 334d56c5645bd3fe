import { NonRetryableError, type Step, schedule, TimeoutError, workflow } from "layover";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { order, orderWorkflow } from "../../functions/workflows/order.ts";
import {
  failing,
  hanging,
  type Stub,
  type Stubs,
  type TestEngine,
  type TestEngineOptions,
  testEngine,
} from "../../src/testing.ts";

/** Opens and closes one engine here, because the first one of a process opens its Postgres. */
beforeAll(async () => {
  const first = await testEngine({ workflows: [] });
  await first.close();
}, 120_000);

const engines: TestEngine[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close();
});

async function anEngine(options: TestEngineOptions): Promise<TestEngine> {
  const engine = await testEngine(options);
  engines.push(engine);
  return engine;
}

const tested = workflow({
  name: "tested",
  version: 1,
  signals: { go: z.string(), other: z.number() },
  callbacks: { approval: z.object({ ok: z.boolean() }) },
});
type TestedStep = Parameters<Parameters<typeof tested.handler>[0]>[0]["step"];

/** Starts a run of this handler, which is not carried out yet. */
async function aRunOf(
  handle: (step: TestedStep) => Promise<unknown>,
  stub: Stubs[string] = {},
  options: Omit<TestEngineOptions, "workflows" | "stub"> = {},
) {
  const workflows = [tested.handler(({ step }) => handle(step))];
  const t = await anEngine({ ...options, workflows, stub: { tested: stub } });
  return { t, run: await t.start(tested) };
}

/** Answers the CPU time of this process, in milliseconds. A busy machine changes little of it. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

const real = () => {
  throw new Error("the real body was run");
};
const input = {
  customer: "Ada",
  amount: 42,
  items: ["lamp", "desk"],
  address: { street: "1 Rose St", city: "London" },
};

describe("a signal that starts its run", () => {
  it("is there for the new run, and for the run that is there", async () => {
    const workflows = [
      tested.handler(async ({ step }) => [await step.waitForSignal("go"), await step.waitForSignal("other")]),
    ];
    const t = await anEngine({ workflows });
    const first = await t.signalWithStart(tested, "go", "now", { id: "t1" });
    await first.run.untilWaiting("other");
    const second = await t.signalWithStart(tested, "other", 1, { id: "t1" });
    expect([first.outcome, second.outcome, second.run.runId]).toEqual(["sent", "sent", first.run.runId]);
    expect(await second.run.result()).toEqual(["now", 1]);
  });
});

describe("the order of the demo", () => {
  it("is played to its end", async () => {
    const sent: string[] = [];
    const send = ({ path }: { path: string }) => `parcel ${sent.push(path)}`;
    const t = await anEngine({ workflows: [orderWorkflow], stub: { order: { charge: () => "c1", send } } });
    const run = await t.start(order, input);
    await run.untilWaiting("approval");
    await run.signal("address", { street: "1 Main St", city: "Turin" });
    await run.callback("approval").resolve({ ok: true });
    await t.advance("1 hour");
    expect(await run.result()).toEqual({
      charge: "c1",
      parcels: ["parcel 1", "parcel 2"],
      address: { street: "1 Main St", city: "Turin" },
    });
    expect(sent).toEqual(["ship[0]/send", "ship[1]/send"]);
    expect(t.logs.map(({ message }) => message)).toEqual(["charged", "waits for approval: open this page", "shipped"]);
  });

  it("is played three times, and the CPU time of each is printed", async () => {
    const figures: { "ms to open the engine": number; "ms of the order": number }[] = [];
    for (let round = 0; round < 3; round += 1) {
      const beganAt = cpuMs();
      const t = await anEngine({
        workflows: [orderWorkflow],
        stub: { order: { charge: () => "c1", send: () => "p" } },
      });
      const openedAt = cpuMs();
      const run = await t.start(order, input);
      await run.untilWaiting("approval");
      await run.callback("approval").resolve({ ok: true });
      await t.advance("1 hour");
      expect(await run.result()).toMatchObject({ charge: "c1" });
      figures.push({ "ms to open the engine": openedAt - beganAt, "ms of the order": cpuMs() - openedAt });
    }
    console.log("the order of the demo in the kit, CPU time:", figures);
  });

  /** The order, and what is asked of a payment provider: the charges, and the keys of the charges that it gives back. */
  async function anOrder(charge: Stub = ({ idempotencyKey }) => charges.push(idempotencyKey)) {
    charges = [];
    const refunds: unknown[] = [];
    const refund: Stub = ({ undone }) => refunds.push(undone?.original.idempotencyKey);
    const stub = { order: { charge, "[undo]/charge": refund, send: () => "p" } };
    const t = await anEngine({ workflows: [orderWorkflow], stub });
    return { t, run: await t.start(order, input), refunds };
  }
  let charges: string[] = [];

  it("fails when it is not approved, and refunds its customer once", async () => {
    const { run, refunds } = await anOrder();
    await run.untilWaiting("approval");
    await run.callback("approval").resolve({ ok: false });
    await expect(run.result()).rejects.toMatchObject({ status: "failed", cause: { name: "NonRetryableError" } });
    expect(charges).toHaveLength(1);
    expect(refunds).toEqual(charges);
  });

  it("fails when nobody approves for three days, and refunds its customer once", async () => {
    const { t, run, refunds } = await anOrder();
    await t.advance(3 * 86_400_000 - 1);
    expect(await run.status()).toBe("waiting");
    await t.advance(1);
    await expect(run.result()).rejects.toMatchObject({ cause: { name: "TimeoutError" } });
    await expect(run.callback("approval").resolve({ ok: true })).rejects.toMatchObject({ code: "callback_expired" });
    expect(refunds).toEqual(charges);
  });

  it("refunds its customer once when it is cancelled, though its process dies meanwhile", async () => {
    const { t, run, refunds } = await anOrder();
    await run.untilWaiting("approval");
    await run.cancel({ reason: "ordered twice" });
    t.crash();
    await t.advance("10 minutes");
    await expect(run.result()).rejects.toMatchObject({ status: "cancelled" });
    expect(refunds).toEqual(charges);
    expect(await run.get()).toMatchObject({ undos: { owed: 1, done: 1, failed: 0 } });
  });

  it("gives back a charge that failed, since it may have had its effect", async () => {
    let key: string | undefined;
    const { t, run, refunds } = await anOrder(({ idempotencyKey }) => {
      key = idempotencyKey;
      throw new Error("no answer");
    });
    await t.advance("1 hour");
    await expect(run.result()).rejects.toMatchObject({ status: "failed", cause: { name: "StepError" } });
    expect(refunds).toEqual([key]);
  });

  it("keeps the charge when it completes", async () => {
    const { t, run, refunds } = await anOrder(() => "c1");
    await run.untilWaiting("approval");
    await run.callback("approval").resolve({ ok: true });
    await t.advance("1 hour");
    expect(await run.result()).toMatchObject({ charge: "c1" });
    expect(refunds).toEqual([]);
  });
});

describe("stubs", () => {
  it("stand for undos by a name of their own, and are told what is undone", async () => {
    const undone: unknown[] = [];
    const note: Stub = ({ path, undone: { result, outcome, error } = {} }) =>
      undone.push([path, result, outcome, error?.message]);
    const compensate = real;
    const { t, run } = await aRunOf(
      async (step) => {
        await step.run("a", () => 1, { compensate });
        await step.map("each", [1, 2], (_, { step }) =>
          step.run("send", () => "s", { compensate: { run: compensate } }),
        );
        await step.run("b", () => Promise.reject(new Error("lost")), { retry: { maxAttempts: 1 }, compensate });
      },
      { a: () => "one", "[undo]/a": note, "[undo]/each[1]/send": note, "[undo]/send": note, "[undo]/b": note },
    );
    await t.advance("1 minute");
    await expect(run.result()).rejects.toMatchObject({ status: "failed" });
    expect(undone.toSorted()).toEqual([
      ["[undo]/a", "one", "succeeded", undefined],
      ["[undo]/b", undefined, "unknown", "lost"],
      ["[undo]/each[0]/send", "s", "succeeded", undefined],
      ["[undo]/each[1]/send", "s", "succeeded", undefined],
    ]);
  });

  it("of a step do not stand for its undo, which is carried out for real", async () => {
    const undo = vi.fn();
    const { run } = await aRunOf(
      async (step) => {
        await step.run("charge", real, { compensate: undo });
        throw new NonRetryableError("no");
      },
      { charge: () => "c1" },
    );
    await expect(run.result()).rejects.toMatchObject({ status: "failed" });
    expect(undo).toHaveBeenCalledExactlyOnceWith("c1", expect.objectContaining({ outcome: "succeeded", attempt: 1 }));
  });

  it("stand for bodies wherever steps are: in scopes, maps, branches, races and announcements", async () => {
    const paths: string[] = [];
    const note = ({ path }: { path: string }) => paths.push(path);
    const each = async (_: unknown, { step }: { step: Step }) => step.run("each", real);
    const branch = async ({ step }: { step: Step }) => step.run("branch", real);
    const { t, run } = await aRunOf(
      async (step) => {
        await step.scope("room", ({ step }) => step.run("inside", real));
        await step.scope("room", ({ step }) => step.run("inside", real));
        await step.map("map", ["a", "b"], each);
        await step.mapSettled("settled", ["a"], each);
        await step.all("all", [branch, branch]);
        await step.race("race", [branch]);
        await step.waitForCallback("approval", real);
      },
      { inside: note, each: note, branch: note, "approval/announce": note },
    );
    await run.untilWaiting("approval");
    const recorded = (await run.history()).records.map(({ path }) => path);
    expect(paths).toEqual(recorded);
    expect(paths).toEqual([
      "room/inside",
      "room#2/inside",
      "map[0]/each",
      "map[1]/each",
      "settled[0]/each",
      "all[0]/branch",
      "all[1]/branch",
      "race[0]/branch",
      "approval/announce",
    ]);
    await run.callback("approval").resolve({ ok: true });
    expect(await run.result()).toBeUndefined();
    expect(t.logs).toEqual([]);
  });

  it("are found by path, by path without numbers, and by name, in this order", async () => {
    const { run } = await aRunOf(
      async (step) => [
        ...(await step.map("ship", ["a", "b"], (_, { step }) => step.run<string>("send", real))),
        await step.run("send", real),
      ],
      { "ship[1]/send": () => "path", "ship/send": () => "without numbers", send: () => "name" },
    );
    expect(await run.result()).toEqual(["without numbers", "path", "name"]);
  });

  it("get the step's context, and the one that announces the callback's URL", async () => {
    const contexts: unknown[] = [];
    const note = (context: unknown) => contexts.push(context);
    const { run } = await aRunOf(
      async (step) => {
        await step.run("charge", real);
        await step.waitForCallback("approval", real);
      },
      { charge: note, announce: note },
    );
    await run.untilWaiting("approval");
    const { token } = run.callback("approval");
    const common = {
      attempt: 1,
      runId: run.runId,
      idempotencyKey: expect.any(String),
      abortSignal: expect.any(AbortSignal),
    };
    expect(contexts).toEqual([
      { ...common, path: "charge" },
      { ...common, path: "approval/announce", token, url: expect.stringContaining(token) },
    ]);
  });

  it("leave what has none to its real body", async () => {
    const { run } = await aRunOf(async (step) => step.run("real", async () => "really"), { other: () => "stub" });
    expect(await run.result()).toBe("really");
  });

  it.each([
    ["chrage", "charge"],
    ["coolOff", "cool off"],
    ["ship/sned", "ship[0]/send"],
  ])("of nearly a step's name fail the test, and its body is not run: %s for %s", async (stub, path) => {
    const body = vi.fn(real);
    const { run } = await aRunOf(
      async (step) => {
        await step.run("before", () => {});
        const [map, name = path] = path.split("[0]/");
        if (name === path) await step.run(name, body);
        else await step.map(map ?? "", [0], (_, { step }) => step.run(name, body));
      },
      { [stub]: () => {}, unused: () => {} },
    );
    await expect(run.result()).rejects.toMatchObject({
      code: "unknown_stub",
      message: expect.stringMatching(/no step has met the stub ".*Steps so far: "before", ".*onMissingStub/),
    });
    expect(body).not.toHaveBeenCalled();
  });

  it("of nearly a step's name are left aside if the test says so, or if another step has met them", async () => {
    const steps = async (step: TestedStep) => [await step.run("charge", () => 1), await step.run("charged", () => 2)];
    const other = await aRunOf(steps, { chrage: () => 3 }, { onMissingStub: "run" });
    expect(await other.run.result()).toEqual([1, 2]);
    const { run } = await aRunOf(steps, { charge: () => 3 });
    expect(await run.result()).toEqual([3, 2]);
  });

  it("of one step among several that are numbered leave the others to their bodies", async () => {
    const { run } = await aRunOf(
      async (step) => [await step.run("part 1", () => 1), await step.run("part 2", () => 2)],
      {
        "part 2": () => 3,
      },
    );
    expect(await run.result()).toEqual([1, 3]);
  });

  it("of a workflow that is not here are refused", async () => {
    await expect(testEngine({ workflows: [orderWorkflow], stub: { ordr: {} } })).rejects.toMatchObject({
      code: "unknown_workflow",
      message: expect.stringContaining('the workflows are "order"'),
    });
  });
});

describe("code under test", () => {
  it("starts and signals runs by the engine's client, which the test then finds", async () => {
    const { t, run } = await aRunOf(async (step) => step.waitForSignal("go"));
    const { client } = t;
    t.crash();
    await t.advance("1s");
    const started = await client.start(tested, undefined, { id: "by code", tags: { by: "code" } });
    await t.untilIdle();
    await started.signal("go", "gone");
    const found = await t.runs(tested);
    expect(found.map(({ runId }) => runId)).toEqual([run.runId, started.runId]);
    expect(await found[1]?.result()).toBe("gone");
    expect((await client.list({ tags: { by: "code" } })).runs).toMatchObject([{ status: "completed" }]);
    expect(await run.status()).toBe("waiting");
  });

  it("is told that the engine is closed", async () => {
    const { t } = await aRunOf(async () => {});
    await t.close();
    await expect(t.client.list()).rejects.toMatchObject({ code: "closed" });
  });
});

describe("retries", () => {
  it("come when time passes, as many as the stub fails", async () => {
    const { t, run } = await aRunOf(async (step) => step.run("charge", real), { charge: failing(2, () => "c1") });
    await t.untilIdle();
    expect(await run.status()).toBe("retrying");
    await t.advance(499);
    expect((await run.history()).attempts).toHaveLength(1);
    await t.advance(1); // half of the first second
    expect((await run.history()).attempts).toHaveLength(2);
    await t.advance("1s");
    expect(await run.result()).toBe("c1");
    expect((await run.history()).records).toMatchObject([{ path: "charge", attempts: 3 }]);
  });

  it("end with the last attempt", async () => {
    const { t, run } = await aRunOf(async (step) => step.run("charge", real), { charge: failing(5, () => "c1") });
    await t.advance("10 minutes");
    await expect(run.result()).rejects.toMatchObject({
      cause: { name: "StepError", message: expect.stringContaining("charge") },
    });
  });

  it("do not come for an error that says so", async () => {
    const { run } = await aRunOf(async (step) => step.run("charge", real), {
      charge: failing(1, () => "c1", new NonRetryableError("no money")),
    });
    await expect(run.result()).rejects.toThrow("no money");
  });
});

describe("a mistake of a handler", () => {
  it("fails the test: an await that is no step", async () => {
    const { t } = await aRunOf(async (step) => {
      await step.run("charge", () => 1);
      await new Promise((resolve) => setTimeout(resolve, 10));
      return "done";
    });
    await expect(t.untilIdle()).rejects.toMatchObject({
      code: "handler_mistake",
      message: expect.stringContaining("awaits something after charge that is no step"),
    });
  });

  it("fails the test: a step that nobody awaits", async () => {
    const { t } = await aRunOf(async (step) => {
      void step.run("audit", () => {});
      return "done";
    });
    await expect(t.untilIdle()).rejects.toMatchObject({
      code: "handler_mistake",
      message: expect.stringContaining('nothing awaited step "audit"'),
    });
  });
});

describe("time", () => {
  it("is at noon of a day in 2026 at first, or at what the test says", async () => {
    const { t, run } = await aRunOf(async (step) => step.now());
    expect(t.now).toEqual(new Date("2026-01-01T12:00Z"));
    expect(await run.result()).toEqual(t.now);
    const { run: other } = await aRunOf(async (step) => step.now(), {}, { now: new Date("1999-12-31T23:59Z") });
    expect(await other.result()).toEqual(new Date("1999-12-31T23:59Z"));
    expect(await run.get()).toMatchObject({ createdAt: new Date("2026-01-01T12:00Z") });
  });

  it("passes 30 days with sleeps, retries and timeouts, each at its instant", async () => {
    const { t, run } = await aRunOf(
      async (step) => {
        const seen: Date[] = [];
        for (let day = 0; day < 30; day += 1) {
          await step.sleep("night", "23 hours");
          await step.run("work", real, { retry: { delay: "1h", maxDelay: "1h", jitter: false } });
          seen.push(step.now());
        }
        await step.waitForSignal("go", { timeout: "1 hour", onTimeout: "null" });
        return seen;
      },
      { work: failing(1, () => {}) },
    );
    await t.advance("30 days");
    expect(await run.status()).toBe("waiting");
    await t.advance("1 hour");
    const days = Array.from({ length: 30 }, (_, day) => new Date(Date.UTC(2026, 0, 2 + day, 12)));
    expect(await run.result()).toEqual(days);
  });

  it("may pass by years, and what is over is still there", async () => {
    const { t, run } = await aRunOf(async (step) => step.waitForSignal("go"));
    const { t: other, run: failed } = await aRunOf(async () => Promise.reject(new Error("no")));
    await run.signal("go", "done");
    await Promise.all([t, other].map((engine) => engine.advance("400 days")));
    expect(await run.result()).toBe("done");
    await expect(failed.result()).rejects.toThrow("no");
    await t.untilIdle();
    await t.start(tested);
    await t.advance("400 days");
    expect(await run.status()).toBe("completed");
  });

  it("is each engine's own", async () => {
    const one = await aRunOf(async (step) => step.sleep("a while", "1 hour"));
    const other = await aRunOf(async (step) => step.sleep("a while", "1 hour"));
    await one.t.advance("1 hour");
    await other.t.advance("59 minutes");
    await Promise.all([one.t.untilIdle(), other.t.untilIdle()]);
    expect([await one.run.status(), await other.run.status()]).toEqual(["completed", "sleeping"]);
    await Promise.all([one.t.advance("1 minute"), other.t.advance("1 minute")]);
    expect((await other.run.get()).endedAt).toEqual(new Date("2026-01-01T13:00Z"));
  });

  it("passes for a body that never ends, into its timeout and no further", async () => {
    const { t, run } = await aRunOf(
      async (step) => {
        try {
          await step.run("slow", real, { timeout: "2 minutes", retry: { maxAttempts: 2 } });
        } catch (error) {
          return error instanceof Error ? error.message : error;
        }
        return "it ended";
      },
      { slow: hanging },
    );
    await t.advance(120_000 - 1);
    expect((await run.history()).attempts).toEqual([]);
    await t.advance(1);
    expect((await run.history()).attempts).toMatchObject([{ path: "slow", error: { name: TimeoutError.name } }]);
    await t.advance("5 minutes");
    expect(await run.result()).toMatch(/slow.*2 min/);
  });

  it("goes by although the test has faked the timers of its own code", async () => {
    vi.useFakeTimers();
    try {
      const { t, run } = await aRunOf(async (step) => step.sleep("night", "8 hours"));
      await t.advance("8 hours");
      expect(await run.status()).toBe("completed");
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("signals", () => {
  it("are kept for a wait that comes later", async () => {
    const { t, run } = await aRunOf(async (step) => {
      await step.sleep("first", "1 day");
      return [await step.waitForSignal("go"), await step.waitForSignal("go")];
    });
    await run.signal("go", "early");
    await run.signal("go", "earlier than the wait");
    await t.advance("1 day");
    expect(await run.result()).toEqual(["early", "earlier than the wait"]);
  });

  it("wake a run that waits", async () => {
    const { run } = await aRunOf(async (step) => step.waitForSignal("go"));
    await run.untilWaiting("go");
    await run.signal("go", "now");
    expect(await run.result()).toBe("now");
  });

  it("are checked by the contract", async () => {
    const { run } = await aRunOf(async (step) => step.waitForSignal("go"));
    // @ts-expect-error: the payload is a text
    await expect(run.signal("go", 1)).rejects.toMatchObject({ code: "invalid_payload" });
  });
});

describe("a deletion", () => {
  it("leaves nothing of a run that is over", async () => {
    const { t, run } = await aRunOf(async () => 1);
    await expect(run.delete()).rejects.toMatchObject({ code: "not_applicable" });
    await run.result();
    expect(await run.delete({ by: "ada" })).toEqual({ runId: run.runId, outcome: "deleted" });
    expect(await t.runs(tested)).toEqual([]);
  });
});

describe("a pause", () => {
  it("lets nothing begin until the run is resumed", async () => {
    const { t, run } = await aRunOf(
      async (step) => {
        await step.sleep("nap", "1 hour");
        return await step.run("charge", real);
      },
      { charge: () => "c1" },
    );
    await run.pause({ by: "ada", reason: "their API is down" });
    await t.advance("3 hours");
    expect(await run.status()).toBe("paused");
    await run.resume();
    await t.advance("2 hours");
    expect(await run.result()).toBe("c1");
    expect((await run.history()).operations.map(({ verb, by }) => [verb, by])).toEqual([
      ["pause", "ada"],
      ["resume", undefined],
    ]);
  });

  it("may be followed by the end of the run, at once", async () => {
    const { run } = await aRunOf(async (step) => step.sleep("nap", "1 hour"));
    await run.pause();
    await run.terminate({ by: "ada", reason: "a test" });
    await expect(run.result()).rejects.toMatchObject({
      status: "cancelled",
      cause: { name: "CancelledError", message: "terminated by ada: a test" },
    });
  });

  it("is refused once the run is over", async () => {
    const { run } = await aRunOf(async () => "done");
    await run.result();
    await expect(run.pause()).rejects.toMatchObject({ code: "not_applicable" });
  });
});

describe("a cancel", () => {
  it("has the run clean up, and then it is cancelled", async () => {
    const { t, run } = await aRunOf(
      async (step) => {
        try {
          await step.sleep("nap", "1 day");
        } finally {
          await step.cleanup("release", async ({ step }) => {
            await step.sleep("settle", "10 minutes");
            await step.run("unlock", real);
          });
        }
      },
      { "release/unlock": () => "unlocked" },
    );
    await t.advance("1 minute");
    expect(await run.cancel({ by: "ada", reason: "ordered twice" })).toMatchObject({ outcome: "cancelling" });
    await t.advance("20 minutes");
    await expect(run.result()).rejects.toMatchObject({
      status: "cancelled",
      cause: { name: "CancelledError", message: "the run was cancelled: ordered twice" },
    });
    const { records, operations } = await run.history();
    expect(records.map(({ kind, value }) => [kind, value])).toMatchObject([
      ["closing", { name: "CancelledError", message: "the run was cancelled: ordered twice" }],
      ["sleep", undefined],
      ["step", "unlocked"],
    ]);
    expect(operations).toMatchObject([{ verb: "cancel", by: "ada" }]);
  });

  it("is refused once the run is over", async () => {
    const { run } = await aRunOf(async () => "done");
    await run.result();
    await expect(run.cancel()).rejects.toMatchObject({ code: "not_applicable" });
  });
});

describe("callbacks", () => {
  it("may be rejected", async () => {
    const { run } = await aRunOf(async (step) => step.waitForCallback("approval", () => {}));
    await run.untilWaiting("approval");
    await run.callback("approval").reject("too expensive");
    await expect(run.result()).rejects.toMatchObject({ cause: { name: "CallbackRejectedError" } });
  });

  it("of one name are answered one after the other, or by their path", async () => {
    const { run } = await aRunOf(async (step) =>
      step.map("each", [0, 1, 2], async (_, { step }) => (await step.waitForCallback("approval", () => {})).ok),
    );
    await run.untilWaiting("approval");
    await run.callback("approval", { path: "each[2]/approval" }).resolve({ ok: false });
    await run.callback("approval").resolve({ ok: true });
    await run.callback("approval").resolve({ ok: false });
    expect(await run.result()).toEqual([true, false, false]);
  });

  it("that were not made yet are missed", async () => {
    const { run } = await aRunOf(async (step) => step.waitForCallback("approval", () => {}));
    expect(() => run.callback("approval")).toThrow(/no callback "approval" yet.*untilWaiting/);
  });
});

describe("a crash", () => {
  const twoSteps = async (step: TestedStep) => {
    const one = await step.run<string>("one", real);
    await step.sleep("between", "1 minute");
    return [one, await step.run<string>("two", real)];
  };

  it("between any two turns changes nothing", async () => {
    const body = vi.fn(({ path }: { path: string }) => path);
    const { t, run } = await aRunOf(
      async (step) => [
        await step.run("one", real),
        await step.run("two", real),
        await step.map("each", [0, 1], (_, { step }) => step.run("three", real)),
        await step.waitForSignal("go"),
        await step.run("four", real),
      ],
      { one: body, two: body, three: body, four: body },
    );
    await run.signal("go", "on");
    let turns = 0;
    for (t.crash(); await t.turn(); t.crash()) turns += 1;
    expect(turns).toBe(5);
    expect(await run.result()).toEqual(["one", "two", ["each[0]/three", "each[1]/three"], "on", "four"]);
    expect(body).toHaveBeenCalledTimes(5);
  });

  it("in the middle of a body has it carried out again, at once", async () => {
    let bodies = 0;
    const { t, run } = await aRunOf(twoSteps, {
      one: () => {
        bodies += 1;
        if (bodies === 1) t.crash();
        return `${bodies}`;
      },
      two: () => "2",
    });
    await t.untilIdle();
    await t.advance("1 minute");
    expect(await run.result()).toEqual(["2", "2"]);
    expect(t.now).toEqual(new Date("2026-01-01T12:01Z"));
  });

  it("loses what is known of a wait, not the wait", async () => {
    const { t, run } = await aRunOf(async (step) => step.waitForCallback("approval", () => {}, { timeout: "30 days" }));
    await run.untilWaiting("approval");
    t.crash();
    await t.advance("29 days");
    await run.callback("approval").resolve({ ok: true });
    t.crash();
    expect(await run.result()).toEqual({ ok: true });
  });

  it("over and over in one step ends with an error that says so", async () => {
    const { t, run } = await aRunOf(async (step) => step.run("deadly", real), { deadly: () => t.crash() });
    await t.advance("1 hour");
    await expect(run.result()).rejects.toMatchObject({
      cause: { name: "StepError", message: expect.stringContaining("deadly") },
    });
  });
});

describe("a test that goes wrong", () => {
  it("is told what the run does instead of waiting", async () => {
    const { t, run } = await aRunOf(
      async (step) => {
        await step.run("charge", real);
        await step.waitForSignal("go");
      },
      { charge: failing(1, () => "c1", new Error("card declined")) },
    );
    await expect(run.untilWaiting("go")).rejects.toMatchObject({
      code: "not_waiting",
      message: expect.stringMatching(
        /it is retrying; retry "charge" until 2026-01-01T12:00:00.500Z.*card declined.*advance/,
      ),
    });
    await t.advance("1s");
    await run.untilWaiting("go");
    await expect(run.result()).rejects.toMatchObject({
      code: "not_over",
      message: expect.stringMatching(/it is waiting; signal "go"/),
    });
  });

  it("is told of a run that is held up, and when it is tried again", async () => {
    const { t, run } = await aRunOf(async () => new Promise(() => {}));
    await expect(t.untilIdle()).rejects.toMatchObject({
      code: "never_ends",
      message: expect.stringContaining("no step"),
    });
    await t.advance("1s");
    await expect(run.result()).rejects.toThrow(
      /it is retrying; the handler awaits something .*that is no step.*; it is tried again at 2026-01-01T12:0\d:/,
    );
  });

  it("is told of a body that never ends, instead of hanging", async () => {
    const stubs = { slow: () => new Promise(() => {}) };
    const { t, run } = await aRunOf(async (step) => step.run("slow", real), stubs, { patience: 20 });
    await expect(t.untilIdle()).rejects.toMatchObject({
      code: "never_ends",
      message: `Not over within 20 ms of real time: the body of step "slow" of run ${run.runId}. Stub it, raise \`patience\`, or let it run into its timeout by advance().`,
    });
    await expect(run.result()).rejects.toThrow(/it is running.*the body of step "slow"/);
  });

  it("waits for a body that takes real time", async () => {
    const slow = () => new Promise((resolve) => setTimeout(() => resolve("slowly"), 60));
    const { run } = await aRunOf(async (step) => step.run("slow", slow));
    expect(await run.result()).toBe("slowly");
  });

  it("is told that a workflow is not here", async () => {
    const { t } = await aRunOf(async () => {});
    await expect(t.start(order, input)).rejects.toMatchObject({ code: "unknown_workflow" });
  });

  it("is told that the engine is closed", async () => {
    const { t, run } = await aRunOf(async () => {});
    await t.close();
    await expect(run.result()).rejects.toMatchObject({ code: "closed" });
  });
});

it("schedules fire as the clock is turned, also after a crash", async () => {
  const report = workflow({ name: "report", version: 1, input: z.object({ day: z.string() }), output: z.string() });
  const t = await testEngine({
    workflows: [report.handler(async ({ input }) => input.day)],
    schedules: [
      schedule({
        name: "nightly",
        cron: "0 3 * * *",
        start: report,
        input: ({ scheduledAt }) => ({ day: scheduledAt.toISOString().slice(0, 10) }),
      }),
    ],
  });
  await t.advance("1 day");
  t.crash();
  await t.advance("1 day");
  const runs = await t.runs(report);
  expect(await Promise.all(runs.map((run) => run.result()))).toEqual(["2026-01-02", "2026-01-03"]);
});
