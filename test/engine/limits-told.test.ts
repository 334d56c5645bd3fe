/** Runs whose history is full: the handler is told as after a cancel, and cleans up before the run ends. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { testKeys } from "../postgres/encryption/keys.ts";
import { cancel, recordsOf } from "./cancelling.ts";
import { child, childrenOf, familiesOn, waiting } from "./families.ts";
import { play, type TestedStep, tested, worldOf } from "./playing.ts";

const database = testDatabase();
const many = Array.from({ length: 10_100 }, (_, index) => index);
const failed = { status: "failed", error: { code: "history_limit" } };

/** Carries out steps until the history holds 16 MiB. */
async function fill(step: TestedStep): Promise<never> {
  for (;;) await step.run("fill", () => "x".repeat(1_000_000));
}

describe("a run whose history is full", () => {
  test("tells its handler why, refuses all but its cleanups, and ends by the limit", async () => {
    const met: unknown[] = [];
    const done: string[] = [];
    const { world, run, view } = await play(
      database,
      async ({ step }) => {
        await step.run("charge", () => 1, { compensate: () => void done.push("refund") });
        try {
          await fill(step);
        } catch (error) {
          met.push(error);
          await step.run("more", () => done.push("more")).catch((refusal) => met.push(refusal));
          await step.cleanup("release", async ({ step }) => {
            await step.run("unlock", ({ attempt }) => {
              if (attempt === 1) throw new Error("later");
              done.push("unlock");
            });
            await step.sleep("settle", "5 minutes");
            await step.run("tell", () => done.push("tell"));
          });
        }
        return "all is well";
      },
      { invocation: { maxSteps: 100 } },
    );
    expect(view).toMatchObject(failed);
    const told = { name: "CancelledError", reason: "its history is full" };
    expect(met).toMatchObject([told, told]);
    expect(done).toEqual(["unlock", "tell", "refund"]);
    expect((await recordsOf({ world, run })).slice(18)).toEqual([
      "closing ",
      "step release/unlock",
      "sleep release/settle",
      "step release/tell",
      "ending ",
      "step [undo]/charge",
    ]);
  });

  test("is told as one that is cancelled while it cleans up, and cannot be cancelled", async () => {
    const world = await worldOf(
      database,
      async ({ step }) => {
        try {
          await fill(step);
        } finally {
          await step.cleanup("release", ({ step }) => step.sleep("settle", "5 minutes"));
        }
      },
      { invocation: { maxSteps: 100 } },
    );
    const run = await world.start(tested);
    await world.pass("1 minute");
    expect(await world.get(run.runId)).toMatchObject({ status: "cancelling" });
    await expect(cancel(world, run)).rejects.toMatchObject({ code: "not_applicable" });
    expect(await world.run(run)).toMatchObject(failed);
  });

  test("has one hour for its cleanups", async () => {
    const met: unknown[] = [];
    const { world, run, view } = await play(
      database,
      async ({ step }) => {
        try {
          await fill(step);
        } finally {
          await step.cleanup("release", ({ step }) => step.sleep("it", "2 hours")).catch((error) => met.push(error));
        }
      },
      { invocation: { maxSteps: 100 } },
    );
    expect(view).toMatchObject(failed);
    expect(met).toMatchObject([{ name: "CancelledError" }]);
    expect((await recordsOf({ world, run })).slice(17)).toEqual(["closing ", "closing "]);
  });

  test.each(["map", "mapSettled"] as const)(
    "is told so where a %s asks for more than it can hold, and cleans up",
    async (verb) => {
      const done: unknown[] = [];
      const { view } = await play(database, async ({ step }) => {
        try {
          await step[verb]("all", many, (item, { step }) => step.run("one", () => done.push(item)));
        } finally {
          await step.cleanup("release", async ({ step }) => {
            for (const what of ["unlock", "tell"]) await step.run(what, () => done.push(what));
          });
        }
      });
      expect(view).toMatchObject({ ...failed, records: 3 });
      expect(done).toEqual(["unlock", "tell"]);
    },
  );

  test("is told so where it asks for more than its history can hold one by one", async () => {
    const met: unknown[] = [];
    const { view } = await play(database, async ({ step }) => {
      const asked = many.map((item) => step.sleep(`nap ${item}`, "1 day"));
      met.push(await asked.at(-1)?.catch((error: unknown) => error));
    });
    expect(view).toMatchObject(failed);
    expect(met).toMatchObject([{ name: "CancelledError" }]);
  });

  test("waits for the step that is at work beside, records it, and tells its handler then", async () => {
    const met: unknown[] = [];
    const { world, run, view } = await play(
      database,
      ({ step }, world) =>
        step.all("both", [
          ({ step }) =>
            step.run("slow", async ({ abortSignal }) => {
              await world.foreign("40s");
              met.push(abortSignal.reason);
            }),
          async ({ step }) => {
            try {
              await fill(step);
            } finally {
              await step.cleanup("release", ({ step }) => step.run("unlock", () => met.push("unlock")));
            }
          },
        ]),
      { invocation: { maxSteps: 100 } },
    );
    expect(view).toMatchObject(failed);
    expect(met).toMatchObject([{ name: "CancelledError", reason: "its history is full" }, "unlock"]);
    expect((await recordsOf({ world, run })).slice(-3)).toEqual([
      "step both[0]/slow",
      "closing ",
      "step both[1]/release/unlock",
    ]);
  });

  test.each([
    ["of the cloud", { platform: "cloud" }],
    ["of Node", { platform: "node" }],
    ["with the database in its process", { platform: "embedded" }],
    ["that encrypts", { keys: testKeys }],
  ] as const)("cleans up once where the process dies amid its cleanups, on a host %s", async (_, options) => {
    const done: string[] = [];
    const { world, view } = await play(
      database,
      async ({ step }, world) => {
        try {
          await fill(step);
        } finally {
          await step.cleanup("release", async ({ step }) => {
            await step.run("unlock", () => done.push("unlock"));
            await step.run("tell", async () => {
              done.push("tell");
              if (done.length === 2) await world.die();
            });
          });
        }
      },
      { ...options, invocation: { maxSteps: 100 } },
    );
    expect(view).toMatchObject(failed);
    expect(done).toEqual(["unlock", "tell", "tell"]);
    expect(world.time).toBeLessThan(5 * 60_000);
  });

  test("is not retried, and restarts from a step", async () => {
    const { world, run } = await play(database, async ({ step }) => fill(step), { invocation: { maxSteps: 100 } });
    await expect(world.ask((client) => client.retry(run.runId))).rejects.toMatchObject({ code: "not_applicable" });
    expect(await world.ask((client) => client.restart(run.runId, { from: "fill#17" }))).toMatchObject({
      outcome: "restarted",
    });
    expect(await world.run(run)).toMatchObject(failed);
  });

  test("asks the runs to end that it waits for, and ends after them", async () => {
    const done: string[] = [];
    const world = await familiesOn(database)(
      async ({ step }) => {
        const act = { compensate: () => void done.push("undo") };
        const asked = step.invoke("it", child, { nr: 1 });
        await step.run("act", () => 1, act);
        await Promise.all([asked, fill(step)]);
      },
      waiting,
      { invocation: { maxSteps: 100 } },
    );
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject(failed);
    expect(await childrenOf(world)).toMatchObject([{ status: "cancelled" }]);
    expect(done).toEqual(["undo"]);
  });

  test("ends at once by functions of a release that does not know of its cleanups, and is undone", async () => {
    const done: string[] = [];
    await database.pool.query(
      `alter function layover.finish_turn(jsonb, jsonb) rename to finish_turn_of_now;
       create function layover.finish_turn(p jsonb, f jsonb) returns json language sql
         as $$ select layover.finish_turn_of_now(p, f - 'cleansUp') $$`,
    );
    const { view } = await play(
      database,
      async ({ step }) => {
        await step.run("charge", () => 1, { compensate: () => void done.push("refund") });
        try {
          await fill(step);
        } finally {
          await step.cleanup("release", ({ step }) => step.run("unlock", () => done.push("unlock")));
        }
      },
      { invocation: { maxSteps: 100 } },
    );
    await database.pool.query(
      `drop function layover.finish_turn(jsonb, jsonb);
       alter function layover.finish_turn_of_now(jsonb, jsonb) rename to finish_turn`,
    );
    expect(view).toMatchObject({ ...failed, records: 20 });
    expect(done).toEqual(["refund"]);
  });
});
