/** What an engine tells of its runs: each thing once, by who saw it, when it is recorded. */
import { NonRetryableError, workflow } from "layover";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { encode } from "../../src/core/codec/codec.ts";
import type { LayoverEvent } from "../../src/engine/events.ts";
import { testDatabase } from "../postgres/database.ts";
import { type TestedHandler, tested, worldOf } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();

async function told(handle: TestedHandler) {
  const world = await worldOf(database, handle);
  const { runId } = await world.start(tested);
  await world.run({ runId });
  return { world, runId, about: { runId, workflow: "tested", version: 1, at: expect.any(Date) } };
}

function kinds({ events }: { readonly events: readonly LayoverEvent[] }): readonly string[] {
  return events.map((event) => ("step" in event ? `${event.kind} ${event.step}` : event.kind));
}

describe("a run", () => {
  test("that completes is told of once, and each of its steps with the attempt that succeeded", async () => {
    const { world, about } = await told(async ({ step }) => {
      await step.run("charge", ({ attempt }) => {
        if (attempt === 1) throw Object.assign(new Error("busy"), { code: "E_BUSY" });
      });
      await Promise.all(["a", "b"].map((name) => step.run(name, () => name)));
    });
    expect(kinds(world)).toEqual([
      "attempt_failed charge",
      "step_completed charge",
      "step_completed a",
      "step_completed b",
      "run_completed",
    ]);
    const [failed, charged] = world.events;
    const { at } = about;
    const attempt = { ...about, step: "charge", beganAt: at };
    const error = expect.objectContaining({ name: "Error", message: "busy", code: "E_BUSY" });
    expect(failed).toEqual({ kind: "attempt_failed", ...attempt, attempt: 1, error, code: "E_BUSY", retryAt: at });
    expect(charged).toEqual({ kind: "step_completed", ...attempt, attempt: 2 });
    expect(world.events.at(-1)).toEqual({ kind: "run_completed", ...about });
  });

  test("that fails is told of with its error's code, and so is the step that was given up", async () => {
    const { world, about } = await told(async ({ step }) => {
      await step.run("charge", () => {
        throw new NonRetryableError("card declined");
      });
    });
    expect(kinds(world)).toEqual(["step_exhausted charge", "run_failed"]);
    expect(world.events[0]).toMatchObject({ ...about, attempt: 1, error: { message: "card declined" } });
    expect(world.events[1]).toMatchObject({ ...about, error: { name: "StepError" } });
  });

  test("whose branch is given up is told of likewise", async () => {
    const { world } = await told(async ({ step }) => {
      await Promise.allSettled([
        step.run("a", () => {
          throw new NonRetryableError("no");
        }),
        step.run("b", () => 1),
      ]);
    });
    expect(kinds(world)).toEqual(["step_exhausted a", "step_completed b", "run_completed"]);
  });

  test("whose step used `step` is told of as blocked, and not its step as given up", async () => {
    const { world } = await told(async ({ step }) => {
      await step.run("charge", () => Promise.resolve().then(() => step.run("inner", () => 1)));
    });
    expect(kinds(world)).toEqual(["run_blocked"]);
  });

  test("whose input its schema refuses is told of as failed", async () => {
    const strict = workflow({ name: "strict", version: 1, input: z.string() });
    const world = await World.begin(database, { workflows: [strict.handler(async () => {})] });
    const { runId } = await world.start(strict, "text");
    const input = "update layover.run set input = $2, is_input_parsed = false where id = $1";
    await database.pool.query(input, [runId, encode([1])]);
    await world.run({ runId });
    expect(world.events).toMatchObject([
      { kind: "run_failed", runId, workflow: "strict", version: 1, code: "invalid_input" },
    ]);
  });

  test("that is held up, and then blocked, is told of with the reason", async () => {
    const { world, about } = await told(() => new Promise(() => {}));
    const reason =
      "the handler awaits something at its beginning that is no step, and it took longer than a second. Put it into step.run";
    const events = world.events.filter(({ kind }) => kind !== "error");
    const held = { kind: "run_held_up", ...about, at: expect.any(Date), reason };
    expect(events).toEqual([held, held, held, held, { kind: "run_blocked", ...about, reason }]);
  });
});

describe("a lost lease", () => {
  test("is told of by the scheduler where its process died", async () => {
    let world: World | undefined;
    let deaths = 0;
    world = await worldOf(database, async ({ step }) => {
      await step.run("charge", () => (++deaths === 1 ? world?.die() : undefined));
    });
    const { runId } = await world.start(tested);
    await world.run({ runId });
    expect(kinds(world)).toEqual(["lease_lost undefined", "step_completed charge", "run_completed"]);
    expect(world.events[0]).toMatchObject({ kind: "lease_lost", runId, at: expect.any(Date) });
  });

  test("is told of by its holder, once, where another one has claimed the turn meanwhile", async () => {
    let world: World | undefined;
    world = await worldOf(database, async ({ step }) => {
      await step.run("charge", () => world?.foreign("3 minutes"), { timeout: "10 minutes" });
    });
    const { runId } = await world.start(tested);
    await world.pass("1 second");
    await database.pool.query("update layover.run_state set token = gen_random_uuid() where run_id = $1", [runId]);
    await world.pass("4 minutes");
    const isByHolder = (event: LayoverEvent) => event.kind === "lease_lost" && event.workflow !== undefined;
    expect(world.events.filter(isByHolder)).toEqual([
      { kind: "lease_lost", runId, workflow: "tested", version: 1, at: expect.any(Date) },
    ]);
  });
});

test("a run that is dispatched again and again, and that nobody claims, is told of", async () => {
  const world = await worldOf(database, async ({ step }) => step.run("charge", () => 1));
  world.fate = ({ what }) => (what === "claim_turns" ? "fails before" : "passes");
  const { runId } = await world.start(tested);
  await world.pass("20 minutes");
  expect(world.events).toContainEqual({ kind: "run_unclaimed", runId, dispatches: 3, at: expect.any(Date) });
});

test("an error of the engine is an event with its code, and onError is told as well", async () => {
  const world = await worldOf(database, async ({ step }) => step.run("charge", () => 1));
  world.fate = ({ what }) => (what === "finish_turns" && world.time < 60_000 ? "fails before" : "passes");
  const run = await world.start(tested);
  await world.run(run);
  const [error] = world.events;
  expect(error).toMatchObject({ kind: "error", doing: `finishing a turn of run ${run.runId}` });
  expect(world.errors).toHaveLength(1);
  expect(kinds(world)).toEqual(["error", "step_completed charge", "run_completed"]);
});

describe("a handler", () => {
  test("that logs is told of, and onLog gets the entry too", async () => {
    const { world, runId } = await told(async ({ log }) => {
      log.info("began", { amount: 1 });
    });
    const entry = { level: "info", message: "began", fields: { amount: 1 }, runId, workflow: "tested" };
    expect(world.events).toEqual([
      { kind: "handler_logged", ...entry },
      expect.objectContaining({ kind: "run_completed" }),
    ]);
    expect(world.logs).toEqual([entry]);
  });

  test("that makes a mistake is told of, and onLog gets a warning where nobody takes mistakes", async () => {
    const { world, runId } = await told(async ({ step }) => {
      void step.sleep("nap", "1 hour");
    });
    const about = { message: expect.any(String), runId, workflow: "tested" };
    expect(world.events).toContainEqual({ kind: "handler_mistaken", code: "not_awaited", ...about });
    expect(world.logs).toEqual([{ level: "warn", fields: { code: "not_awaited" }, ...about }]);
  });
});
