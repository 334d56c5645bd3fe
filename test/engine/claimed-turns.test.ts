/**
 * The turn that a finish has claimed along with it, where the handler in memory cannot simply go on. It is carried out all
 * the same: otherwise its lease would have to end first, and the scheduler to look.
 */
import { NonRetryableError, workflow } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { cancelled } from "./cancelling.ts";
import { play, type TestedStep, tested, worldOf } from "./playing.ts";
import { World } from "./world.ts";
import type { Fate } from "./world-options.ts";

const database = testDatabase();
const minute = 60_000;

/** A step that has begun, fails, and is to be tried again in an hour. */
function begunStep(step: TestedStep, done: string[]): Promise<unknown> {
  return step.run("begun", () => Promise.reject(new Error("later")), {
    retry: { delay: "1 hour", jitter: false },
    compensate: (_, { outcome }) => void done.push(`undo begun: ${outcome}`),
  });
}

describe.each([1, 100])("at %i steps an invocation the last turns of a run", (maxSteps) => {
  const options = { invocation: { maxSteps } };

  test("that fails and must ask which steps have begun follow at once", async () => {
    const done: string[] = [];
    const { world, view } = await play(
      database,
      async ({ step }) =>
        Promise.all([
          begunStep(step, done),
          step.sleep("nap", "1 minute").then(() => {
            throw new NonRetryableError("no");
          }),
        ]),
      options,
    );
    expect(view).toMatchObject({ status: "failed" });
    expect(done).toEqual(["undo begun: unknown"]);
    expect(world.time).toBe(minute);
  });

  test("that is cancelled, cleans up and must ask which steps have begun follow at once", async () => {
    const done: string[] = [];
    const { world, run } = await cancelled(
      database,
      async ({ step }) => {
        try {
          await begunStep(step, done);
        } finally {
          await step.cleanup("release", ({ step }) => step.run("tidy", () => done.push("tidy")));
        }
      },
      options,
    );
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(done).toEqual(["tidy", "undo begun: unknown"]);
    expect(world.time).toBe(minute);
  });

  test("that is cancelled as it starts another run follow at once", async () => {
    const other = workflow({ name: "other", version: 1 });
    const world = await World.begin(database, {
      ...options,
      workflows: [
        other.handler(async () => {}),
        tested.handler(async ({ step }) => {
          await step.run("a", () => 1);
          await step.start("audit", other);
        }),
      ],
    });
    const run = await world.start(tested);
    world.fate = async ({ what }): Promise<Fate> => {
      const call = JSON.stringify({ namespace: world.namespace, runId: run.runId });
      if (what === "finish_turns") await database.pool.query("select layover.cancel_run($1)", [call]);
      return "passes";
    };
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(world.time).toBe(0);
    expect((await world.history(run)).records.map(({ kind }) => kind)).toEqual(["step", "closing"]);
  });
});

test("a turn that was claimed while its handler asked too late is carried out by a replay, at once", async () => {
  const late = Promise.withResolvers<void>();
  const world = await worldOf(
    database,
    async ({ step }) =>
      Promise.all([
        step.run("a", () => 1).then(() => step.run("b", () => 2)),
        late.promise.then(() => step.run("c", () => 3)),
      ]),
    { invocation: { maxSteps: 100 } },
  );
  world.fate = ({ what }) => {
    if (what === "finish_turns") late.resolve();
    return "passes";
  };
  const run = await world.start(tested);
  expect(await world.run(run)).toMatchObject({ status: "completed", result: [2, 3] });
  expect(world.time).toBe(0);
});
