/** A cancelled run, over its history: what its handler is told, what it may still ask for, and when it is over. */
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { workflow } from "../../../src/core/contract/contract.ts";
import type { CleanupStep, Step } from "../../../src/core/contract/step.ts";
import { isLayoverError } from "../../../src/core/errors.ts";
import type { HistoryRecord } from "../../../src/core/replay/history.ts";
import { aHandler, type Handled } from "./a-handler.ts";

const idle = async () => {};
const child = workflow({ name: "child", version: 1 });
const refusal = "CancelledError: the run was cancelled: ordered twice";

type Closing = Partial<Pick<HistoryRecord, "kind" | "value">>;

/** Hands out the record of a cancel, or of a timeout. */
async function close({ execution }: Handled, { kind = "closing", value = "ordered twice" }: Closing = {}) {
  const at = { path: "", occurrence: 1, recordedAt: execution.now + 1_000 };
  await execution.hand({ ...at, kind, isFailure: true, value, attempts: 1 });
}

/** Begins a handler, and cancels it where it waits. */
async function cancelled(handle: (step: Step) => Promise<unknown>): Promise<Handled> {
  const handled = await aHandler(handle);
  await close(handled);
  return handled;
}

const giveBack = (step: Step, name = "give back") => step.cleanup(name, ({ step }) => step.run("unlock", idle));

describe("a handler that is cancelled", () => {
  test("gets the error at each of its waits, and all that it asks for later is refused", async () => {
    const told: string[] = [];
    const note = (what: string) => (error: unknown) => void told.push(`${what}: ${error}`);
    const { execution, places } = await cancelled(async (step) => {
      await Promise.all([
        step.run("work", idle).catch(note("work")),
        step.sleep("nap", "1 day").catch(note("nap")),
        step.waitForSignal("go").catch(note("go")),
        step.createCallback("approval").wait().catch(note("approval")),
        step.all("both", [({ step }) => step.sleep("a", "1h")]).catch(note("all")),
        step.start("audit", child).catch(note("audit")),
        step.invoke("ship", child).catch(note("ship")),
        step.continueAsNew().catch(note("next")),
      ]);
      await step.run("later", idle).catch(note("later"));
      await step.sleep("rest", 0).catch(note("rest"));
      await step.close("go").catch(note("close"));
      await step.map("each", [1], (_, { step }) => step.run("it", idle)).catch(note("map"));
      await step.start("other audit", child).catch(note("start"));
      await step.invoke("other ship", child).catch(note("invoke"));
      await step.continueAsNew().catch(note("continueAsNew"));
    });
    const before = ["work", "nap", "go", "approval", "all", "audit", "ship", "next"];
    const all = [...before, "later", "rest", "close", "map", "start", "invoke", "continueAsNew"];
    expect(told.toSorted()).toEqual(all.map((what) => `${what}: ${refusal}`).toSorted());
    expect([places(), execution.isOver, execution.divergence]).toEqual([[], true, undefined]);
  });

  test("is told without a reason where nobody gave one", async () => {
    const handled = await aHandler((step) => step.sleep("nap", "1 day"));
    await close(handled, { value: null });
    const { outcome } = handled.execution;
    expect(outcome).toMatchObject({ kind: "threw", error: { message: "the run was cancelled", reason: undefined } });
  });

  test("goes on with its cleanups, step by step, and is over after the last one", async () => {
    const { execution, hand, places, find } = await cancelled(async (step) => {
      try {
        await step.sleep("nap", "1 day");
      } finally {
        await step.cleanup("release", async ({ step }) => {
          await step.run("unlock", idle);
          await step.sleep("settle", "5m");
          await step.scope("mail", ({ step }) => step.run("tell", idle));
        });
      }
    });
    expect([places(), execution.isOver]).toEqual([["release/unlock"], false]);
    expect(find("release/unlock").isShielded).toBe(true);
    await hand("release/unlock");
    await hand("release/settle");
    expect([places(), execution.isOver]).toEqual([["release/mail/tell"], false]);
    await hand("release/mail/tell");
    expect([places(), execution.isOver]).toEqual([[], true]);
  });

  test("does not repeat a cleanup that was under way, and nothing rejects it", async () => {
    const handled = await aHandler(async (step) => {
      await giveBack(step);
      await giveBack(step);
      await step.run("next", idle);
    });
    await handled.hand("give back/unlock");
    expect(handled.places()).toEqual(["give back#2/unlock"]);
    await close(handled);
    expect(handled.places()).toEqual(["give back#2/unlock"]);
    await handled.hand("give back#2/unlock");
    expect(handled.execution.outcome).toMatchObject({ kind: "threw", error: { name: "CancelledError" } });
    expect(handled.execution.isOver).toBe(true);
  });

  test("is told of its cleanups by a second record that they have taken too long", async () => {
    const told: string[] = [];
    const note = (error: unknown) => void told.push(String(error));
    const handled = await cancelled(async (step) => {
      try {
        await step.sleep("nap", "1 day");
      } finally {
        await step.cleanup("settle", ({ step }) => step.sleep("it", "2h")).catch(note);
        await giveBack(step).catch(note);
      }
    });
    expect(handled.places()).toEqual(["settle/it"]);
    await close(handled);
    expect(told).toEqual([refusal, refusal]);
    expect([handled.places(), handled.execution.isOver]).toEqual([[], true]);
  });

  test("may return: that is its end, and nothing that it has not awaited is told of", async () => {
    const { execution } = await cancelled(async (step) => {
      void step.run("forgotten", idle);
      await step.sleep("nap", "1 day").catch(idle);
      return "fine";
    });
    expect(execution.outcome).toEqual({ kind: "returned", value: "fine" });
    expect([execution.isOver, execution.unawaited]).toEqual([true, []]);
  });

  test("is over when it was refused a thousand times, and never blocked for that", async () => {
    let asked = 0;
    const { execution, places } = await cancelled(async (step) => {
      for (;;) {
        asked += 1;
        await step.sleep("again", "1s").catch(idle);
      }
    });
    // The first one was waiting. Each of the others was refused. The last one is never settled.
    expect(asked).toBe(1_002);
    expect([execution.isOver, execution.divergence, places()]).toEqual([true, undefined, []]);
    expect(execution.outcome).toMatchObject({ kind: "threw", error: { name: "CancelledError" } });
    await setImmediate();
    expect(asked).toBe(1_002);
  });

  test("has its other cleanups carried out though a part of it asked a thousand times", async () => {
    const { execution, hand, places } = await cancelled(async (step) => {
      const greedy = async () => {
        for (;;) await step.sleep("again", "1s").catch(idle);
      };
      await Promise.all([giveBack(step), greedy()]);
    });
    expect([places(), execution.isOver]).toEqual([["give back/unlock"], false]);
    await hand("give back/unlock");
    expect([places(), execution.isOver]).toEqual([[], true]);
  });

  test("that waits for something of its own is neither over nor blocked", async () => {
    const { execution } = await cancelled((step) => step.sleep("nap", "1 day").catch(() => new Promise(() => {})));
    expect([execution.isAwaitingForeign, execution.isOver, execution.divergence]).toEqual([true, false, undefined]);
  });

  test("may ask late, when a cleanup is under way beside it: it is refused, and not blocked", async () => {
    const told: string[] = [];
    const { execution, hand, places } = await cancelled(async (step) => {
      const late = async () => {
        await setImmediate();
        await setImmediate();
        await step.run("late", idle);
      };
      await Promise.all([step.sleep("nap", "1 day").catch(late), giveBack(step)]).catch((e) => told.push(String(e)));
    });
    await setImmediate();
    await setImmediate();
    expect([told, execution.divergence, places()]).toEqual([[refusal], undefined, ["give back/unlock"]]);
    await hand("give back/unlock");
    expect(execution.isOver).toBe(true);
  });

  test("gets the error from mapSettled, too, and no list of failed items", async () => {
    const { execution } = await cancelled((step) =>
      step.mapSettled("each", [1, 2], (_, { step }) => step.sleep("nap", "1 day")),
    );
    expect(execution.outcome).toMatchObject({ kind: "threw", error: { name: "CancelledError" } });
  });
});

/** Waits, and then gives back what it holds. */
async function hold(step: Step): Promise<void> {
  try {
    await step.sleep("nap", "1 day");
  } finally {
    await giveBack(step);
  }
}

describe.each<[string, (step: Step) => Promise<unknown>, readonly string[]]>([
  ["a scope", (step) => step.scope("it", ({ step }) => hold(step)), ["it"]],
  [
    "the branches of all",
    (step) => step.all("it", [({ step }) => hold(step), ({ step }) => hold(step)]),
    ["it[0]", "it[1]"],
  ],
  [
    "the branches of a race",
    (step) => step.race("it", [({ step }) => hold(step), ({ step }) => hold(step)]),
    ["it[0]", "it[1]"],
  ],
  ["the items of a map", (step) => step.map("it", [1, 2, 3], (_, { step }) => hold(step)), ["it[0]", "it[1]", "it[2]"]],
  [
    "the items of a map with a slot",
    (step) => step.map("it", [1, 2], (_, { step }) => hold(step), { maxConcurrency: 1 }),
    ["it[0]", "it[1]"],
  ],
  ["the items of mapSettled", (step) => step.mapSettled("it", [1, 2], (_, { step }) => hold(step)), ["it[0]", "it[1]"]],
])("cleanups in %s", (_, handle, branches) => {
  test("are all carried out, in any order, before the run is over", async () => {
    const wanted = branches.map((branch) => `${branch}/give back/unlock`);
    for (const order of [wanted, wanted.toReversed()]) {
      const { execution, hand, places, find } = await cancelled(handle);
      expect(places()).toEqual(wanted);
      for (const place of order) {
        expect(execution.isOver).toBe(false);
        expect(find(place).map).toBeUndefined();
        await hand(place);
      }
      expect([execution.isOver, execution.divergence]).toEqual([true, undefined]);
    }
  });
});

test("a history that records a run's timeout keeps its meaning: steps go on, and so does a cleanup under way", async () => {
  const handled = await aHandler(async (step) => {
    const nap = step.sleep("nap", "1 day");
    const cleanup = giveBack(step);
    try {
      await nap;
    } catch {
      await step.run("refund", idle);
      await cleanup;
      await step.waitForSignal("go");
    }
  });
  await close(handled, { kind: "cancellation", value: "timeout" });
  expect(handled.places()).toEqual(["give back/unlock", "refund"]);
  expect(handled.execution.isClosing).toBe(false);
  await handled.hand("refund");
  await handled.hand("give back/unlock");
  expect(handled.execution.outcome).toMatchObject({ kind: "threw", error: { reason: "timeout" } });
});

test("a record of a kind that the code does not know does not fit: code of an earlier release refuses such a history", async () => {
  const { execution } = await aHandler((step) => step.sleep("nap", "1 day"));
  const later = { kind: "a later kind" as never, path: "", occurrence: 1, isFailure: true, value: null };
  await execution.hand({ ...later, recordedAt: execution.now, attempts: 1 });
  expect(execution.divergence).toContain("where the code asks for sleep nap");
});

describe("a cleanup", () => {
  test("of a run that is not cancelled is a namespace like any other", async () => {
    const { execution, hand, places } = await aHandler(async (step) => [await giveBack(step), await giveBack(step)]);
    expect(places()).toEqual(["give back/unlock"]);
    await hand("give back/unlock", 1);
    expect(places()).toEqual(["give back#2/unlock"]);
    await hand("give back#2/unlock", 2);
    expect(execution.outcome).toEqual({ kind: "returned", value: [1, 2] });
  });

  const hint =
    "A cleanup takes step.run, transaction, sleep, sleepUntil, scope, setStatus, patched, now, random and uuid.";
  // The type of a cleanup's `step` has none of these verbs. JavaScript code can call them all the same.
  test.each<[string, (step: Step) => unknown]>([
    ['the wait for signal "go"', (step) => step.waitForSignal("go")],
    ['close "go"', (step) => step.close("go")],
    ['callback "approval"', (step) => step.createCallback("approval")],
    ['callback "approval"', (step) => step.waitForCallback("approval", idle)],
    ['map "each"', (step) => step.map("each", [1], idle)],
    ['map "each"', (step) => step.mapSettled("each", [1], idle)],
    ['start "audit"', (step) => step.start("audit", child)],
    ['invoke "ship"', (step) => step.invoke("ship", child)],
    ["continueAsNew", (step) => step.continueAsNew()],
    ['map "each"', (step) => step.scope("inner", ({ step }) => step.map("each", [1], idle))],
  ])("refuses %s, which might never be over", async (what, ask) => {
    const { execution } = await aHandler((step) =>
      step.cleanup("release", async ({ step }: { readonly step: CleanupStep }) => ask(step as Step)),
    );
    const { outcome } = execution;
    if (outcome?.kind !== "threw" || !isLayoverError(outcome.error)) throw new Error("nothing was refused");
    const { code, message, hint: told } = outcome.error;
    expect([code, message, told]).toEqual(["invalid_request", `${what} stands in a cleanup`, hint]);
  });

  test("takes a function, and no promise", async () => {
    const { execution } = await aHandler((step) => step.cleanup("release", idle() as never));
    expect(execution.outcome).toMatchObject({ kind: "threw", error: { code: "invalid_request" } });
  });
});
