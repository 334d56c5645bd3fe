/** The spans and metrics of runs, by the real SDK. Whatever process carries a turn out, its run is one tree. */
import { context, ROOT_CONTEXT, TraceFlags, trace } from "@opentelemetry/api";
import { NonRetryableError, workflow } from "layover";
import { telemetry } from "layover/telemetry";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type PlayOptions, type TestedHandler, tested, worldOf } from "../engine/playing.ts";
import { World } from "../engine/world.ts";
import { testDatabase } from "../postgres/database.ts";
import { collecting, shown, treeOf } from "./collecting.ts";

const database = testDatabase();
const collected = collecting();

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";
const traceparent = `00-${traceId}-${spanId}-01`;

/** Plays a run in which each turn has another process, and each of these replays the run. */
async function traced(handle: TestedHandler, options: PlayOptions & { readonly traceparent?: string } = {}) {
  const { traceparent: given = traceparent, ...more } = options;
  const world = await worldOf(database, handle, { telemetry: telemetry(), processes: 2, warmRuns: 0, ...more });
  const run = await world.start(tested, undefined, { traceparent: given });
  return { world, run, view: await world.run(run) };
}

describe("the trace of a run", () => {
  test("is one tree below whoever started it, over several processes, and a replay begins no span", async () => {
    const { run, view, world } = await traced(async ({ step }) => {
      await step.run("charge", ({ attempt }) => {
        if (attempt === 1) throw Object.assign(new Error("busy"), { code: "E_BUSY" });
      });
      await step.sleep("cool off", "10 minutes");
      await step.map("ship", ["a", "b"], (_, { step }) => step.run("send", () => "sent"));
      await step.run("thank", () => "thanks");
    });
    expect(view.status).toBe("completed");
    const spans = collected.spans();
    expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([traceId]));
    expect(treeOf(spans, spanId)).toEqual([
      ["turn tested: parked", "step charge: retried"],
      ["turn tested: parked", "step charge: succeeded"],
      "sleep cool off: succeeded",
      "turn tested: parked",
      ["turn tested: recorded", "step ship/send: succeeded"],
      ["turn tested: recorded", "step ship/send: succeeded"],
      ["turn tested: completed", "step thank: succeeded"],
    ]);
    const turns = spans.filter(({ name }) => name === "turn tested");
    expect(turns.map(({ attributes }) => attributes["layover.turn.branch"])).toContain("ship[0]/send");
    expect(turns[0]?.attributes).toEqual({
      "layover.run.id": run.runId,
      "layover.run.epoch": 0,
      "layover.workflow.name": "tested",
      "layover.workflow.version": 1,
      "layover.turn.number": 1,
      "layover.turn.outcome": "parked",
    });
    const slept = spans.find(({ name }) => name === "sleep cool off");
    expect(slept?.duration[0]).toBe(600);
    expect(world.events.find(({ kind }) => kind === "run_completed")).toMatchObject({
      trace: { traceId, spanId: turns.at(-1)?.spanContext().spanId },
    });
  });

  test("tells the error of an attempt, and of what waited whether it came in time", async () => {
    await traced(async ({ step }) => {
      await step.waitForSignal("go", { timeout: "1 minute", onTimeout: "null" });
      await step.run("charge", () => {
        throw Object.assign(new NonRetryableError("card declined"), { code: "E_CARD" });
      });
    });
    const spans = collected.spans();
    expect(spans.map(shown)).toEqual([
      "turn tested: parked",
      "step charge: failed",
      "wait for signal go: timed_out",
      "turn tested: failed",
    ]);
    const [, charge] = spans;
    expect(charge).toMatchObject({
      attributes: { "layover.step.name": "charge", "layover.step.attempt": 1, "error.type": "E_CARD" },
      status: { message: "card declined" },
      events: [{ name: "exception" }],
    });
  });

  test("has the run's id as its own where nobody who starts it is traced", async () => {
    const { run } = await traced(({ step }) => step.run("it", () => 1), { traceparent: "none" });
    const id = run.runId.replaceAll("-", "");
    expect(collected.spans().map((span) => span.spanContext().traceId)).toEqual([id, id]);
    expect(collected.spans().at(-1)?.parentSpanContext?.spanId).toBe(id.slice(16));
  });

  test("ends after an hour: what comes later has one of its own with a link to the first", async () => {
    await traced(async ({ step }) => {
      await step.run("first", () => 1);
      await step.sleep("long", "90 minutes");
      await step.run("second", () => 2);
    });
    const spans = collected.spans().filter(({ name }) => name === "turn tested");
    const traces = new Set(spans.map((span) => span.spanContext().traceId));
    expect(traces.size).toBe(2);
    expect(spans[0]?.links).toEqual([]);
    const later = spans.filter((span) => span.spanContext().traceId !== traceId);
    expect(later.map(({ links }) => links[0]?.context.traceId)).toEqual(later.map(() => traceId));
  });

  test("of a run that continues as new goes on in one for each epoch", async () => {
    const laps = workflow({ name: "laps", version: 1, input: z.number() });
    const handler = laps.handler(async ({ input, step }) => {
      if (input < 2) await step.continueAsNew(input + 1);
    });
    const world = await World.begin(database, { workflows: [handler], telemetry: telemetry() });
    await world.run(await world.start(laps, 0, { traceparent }));
    const spans = collected.spans();
    expect(spans.map(({ links }) => links[0]?.context.traceId)).toEqual([undefined, traceId, traceId]);
    expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(3);
  });
});

describe("a run that another one starts", () => {
  const child = workflow({ name: "child", version: 1 });
  const parent = workflow({ name: "parent", version: 1 });
  const workflows = [
    child.handler(({ step }) => step.run("work", () => 1)),
    parent.handler(({ step }) => step.invoke("call", child, undefined)),
  ];

  test("is traced below the turn that started it, and its parent tells how long it waited", async () => {
    const world = await World.begin(database, { workflows, telemetry: telemetry() });
    const run = await world.start(parent, undefined, { traceparent });
    expect((await world.run(run)).status).toBe("completed");
    expect(treeOf(collected.spans(), spanId)).toEqual([
      ["turn parent: parked", ["turn child: completed", "step work: succeeded"]],
      "invoke call: succeeded",
      "turn parent: completed",
    ]);
  });

  test("keeps the trace of its parent where that is carried out by a process that traces nothing", async () => {
    const world = await World.begin(database, { workflows });
    await world.run(await world.start(parent, undefined, { traceparent }));
    const { rows } = await database.pool.query("select distinct traceparent from layover.run where namespace = $1", [
      world.namespace,
    ]);
    expect(rows).toEqual([{ traceparent }]);
  });
});

describe("who is traced", () => {
  async function sampled(sample: number | "parent", flags: "00" | "01") {
    const given = `00-${traceId}-${spanId}-${flags}`;
    await traced(async () => 1, { telemetry: telemetry({ sample }), traceparent: given });
    return collected.spans().map((span) => span.spanContext().traceFlags);
  }

  test("is each run, though its caller is not", async () => {
    expect(await sampled(1, "00")).toEqual([TraceFlags.SAMPLED]);
  });

  test("may be whoever has a caller who is", async () => {
    expect(await sampled("parent", "00")).toEqual([]);
    expect(await sampled("parent", "01")).toEqual([TraceFlags.SAMPLED]);
  });

  test("may be a part of all runs, by the ids of their traces", async () => {
    expect(await sampled(0, "01")).toEqual([]);
    expect(await sampled(0.5, "01")).toEqual([]);
    expect(await sampled(0.6, "00")).toEqual([TraceFlags.SAMPLED]); // this one is at 0.557
  });

  test("is said by a number from 0 to 1", () => {
    expect(() => telemetry({ sample: 2 })).toThrow("sample: 2 is no part of all runs");
    expect(() => telemetry({ sample: Number.NaN })).toThrow("is no part of all runs");
  });
});

test("a start takes over the active span of whoever calls", async () => {
  const world = await worldOf(database, async () => 1, { telemetry: telemetry() });
  const active = { traceId, spanId, traceFlags: TraceFlags.SAMPLED };
  context.setGlobalContextManager({
    active: () => trace.setSpanContext(ROOT_CONTEXT, active),
    with: (_, act, self, ...args) => act.call(self, ...args),
    bind: (_, target) => target,
    enable() {
      return this;
    },
    disable() {
      return this;
    },
  });
  try {
    await world.run(await world.start(tested));
  } finally {
    context.disable();
  }
  expect(collected.spans()).toMatchObject([{ parentSpanContext: { traceId, spanId } }]);
});

describe("the metrics", () => {
  const of = (workflow: string) => ({ "layover.workflow.name": workflow, "layover.workflow.version": 1 });

  test("count turns, attempts and runs by their outcomes, and what ticks find", async () => {
    await traced(async ({ step }) => {
      await step.run("charge", ({ attempt }) => {
        if (attempt === 1) throw new Error("busy");
      });
    });
    expect(await collected.points("layover.turns")).toEqual([
      [{ ...of("tested"), "layover.turn.outcome": "parked" }, 1],
      [{ ...of("tested"), "layover.turn.outcome": "completed" }, 1],
    ]);
    expect(await collected.points("layover.step.attempts")).toEqual([
      [{ ...of("tested"), "layover.step.outcome": "retried" }, 1],
      [{ ...of("tested"), "layover.step.outcome": "succeeded" }, 1],
    ]);
    expect(await collected.points("layover.runs.ended")).toEqual([
      [{ ...of("tested"), "layover.run.outcome": "completed" }, 1],
    ]);
    expect(await collected.points("layover.leases.lost")).toEqual([]);
  });

  test("tell how late a start and a wake were, counted from when they were meant", async () => {
    const sleepy: TestedHandler = ({ step }) => step.sleep("nap", "20 minutes");
    const world = await worldOf(database, sleepy, { telemetry: telemetry(), isShuffled: true, seed: 3 });
    await world.run(await world.start(tested, undefined, { delay: "10 minutes" }));
    const [started] = await collected.points("layover.run.start.lateness");
    const [woken] = await collected.points("layover.wake.lateness");
    const [due] = await collected.points("layover.scheduler.due");
    expect(started?.[0]).toEqual(of("tested"));
    for (const [, seconds = -1] of [started, woken].map((point) => point ?? [])) {
      expect(seconds).toBeGreaterThanOrEqual(0);
      expect(seconds).toBeLessThan(180); // and not the ten and twenty minutes that were asked for
    }
    expect(due?.[1]).toBeGreaterThan(0);
    expect((await collected.points("layover.scheduler.dispatched"))[0]?.[1]).toBeGreaterThan(0);
  });

  test("count leases that were lost, and firings that started no run", async () => {
    const { onEvent } = telemetry();
    onEvent({ kind: "lease_lost", runId: "r1", at: new Date() });
    const skip = {
      schedule: "nightly",
      cause: "overlap",
      scheduledAt: new Date(),
      runId: "r1",
      reason: undefined,
    } as const;
    onEvent({ kind: "schedule_skipped", ...skip, inRow: 1 });
    onEvent({ kind: "schedule_skipped", ...skip, inRow: 2 });
    expect(await collected.points("layover.leases.lost")).toEqual([[{}, 1]]);
    const attributes = { "layover.schedule.name": "nightly", "layover.schedule.skip.cause": "overlap" };
    expect(await collected.points("layover.schedule.skips")).toEqual([[attributes, 2]]);
  });
});
