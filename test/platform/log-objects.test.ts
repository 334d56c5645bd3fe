/** Log entries and events as objects and lines of JSON: run, step, attempt and trace can be searched. */
import { LayoverError } from "layover";
import { serve } from "layover/node";
import { telemetry } from "layover/telemetry";
import { afterEach, describe, expect, test, vi } from "vitest";
import { eventObject, jsonLine } from "../../src/platform/log/entry-object.ts";
import { type TestedHandler, tested, worldOf } from "../engine/playing.ts";
import { testDatabase } from "../postgres/database.ts";
import { secret } from "./a-worker.ts";
import { collecting } from "./collecting.ts";

const database = testDatabase({ isOwn: true });
const collected = collecting();

afterEach(() => void vi.restoreAllMocks());

const logging: TestedHandler = async ({ step, log }) => {
  log.info("begins");
  await step.run("charge", () => log.info("charging", { amount: 42n }));
  log.warn("ends");
};

function spanOf(name: string, number = 0): string | undefined {
  return collected
    .spans()
    .filter((span) => span.name === name)
    [number]?.spanContext().spanId;
}

test("a handler logs with the span of its turn, and a body with its step, its attempt and their span", async () => {
  const world = await worldOf(database, logging, { telemetry: telemetry() });
  await world.run(await world.start(tested));
  const shown = world.logs.map(({ message, step, attempt, trace }) => [message, step, attempt, trace?.spanId]);
  expect(shown).toEqual([
    ["begins", undefined, undefined, spanOf("turn tested")],
    ["charging", "charge", 1, spanOf("step charge")],
    ["ends", undefined, undefined, spanOf("turn tested")],
  ]);
});

test("a server of Node prints lines of JSON where it is told to", async () => {
  const lines: string[] = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
  const { client, close } = await serve({
    workflows: [tested.handler(logging)],
    database: database.query,
    secrets: [secret],
    port: 0,
    logs: "json",
    telemetry: telemetry(),
  });
  const run = await client.start(tested);
  await run.result({ wait: "30s" });
  await close();
  const [, charging] = lines.map((line) => JSON.parse(line));
  expect(charging).toEqual({
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    level: "info",
    message: "charging",
    workflow: "tested",
    runId: run.runId,
    step: "charge",
    attempt: 1,
    trace_id: run.runId.replaceAll("-", ""),
    span_id: spanOf("step charge"),
    fields: { amount: "42" },
  });
});

describe("a line of JSON", () => {
  test("holds what JSON cannot: cycles, errors, and what throws", () => {
    const cycle: Record<string, unknown> = { name: "a" };
    cycle["self"] = cycle;
    const twice = { x: 1 };
    const line = jsonLine({ cycle, one: twice, other: twice, error: new RangeError("far") });
    expect(JSON.parse(line)).toMatchObject({
      cycle: { name: "a", self: "[a cycle]" },
      one: { x: 1 },
      other: { x: 1 },
      error: { name: "RangeError", message: "far" },
    });
    const nasty = {
      get thrown() {
        throw new Error("no");
      },
    };
    expect(jsonLine({ nasty })).toContain("could not be written as JSON");
  });

  test("of an event has the names of its span, and the hint of its error", () => {
    const error = new LayoverError("internal", "broken", { hint: "Mend it." });
    const trace = { traceId: "0af7", spanId: "b7ad" };
    const about = { runId: "r1", workflow: "order", version: 1, at: new Date(0), trace };
    expect(eventObject({ kind: "error", error, doing: "working", code: "internal" }, "")).toMatchObject({
      message: "error while working: broken",
      hint: "Mend it.",
    });
    const blocked = eventObject({ kind: "run_blocked", reason: "no", ...about }, " (twice)");
    expect(blocked).toMatchObject({ trace_id: "0af7", span_id: "b7ad", message: "the run is blocked: no (twice)" });
    expect(blocked).not.toHaveProperty("trace");
    expect(eventObject({ kind: "run_slowed", until: new Date(60_000), ...about }, "")).toMatchObject({
      message: "the run continues as new without waiting, so its next lap begins at 1970-01-01T00:01:00.000Z",
    });
  });
});
