/** Runs that a run starts and waits for: what `step.invoke` answers and throws, and how deep such runs may go. */
import { ChildFailedError, NonRetryableError, StepError, TimeoutError, workflow } from "layover";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { child, childrenOf, doubling, familiesOn, waiting } from "./families.ts";
import { tested } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();
const family = familiesOn(database);

describe("step.invoke", () => {
  test("waits for the end of the run and answers its result", async () => {
    const world = await family(async ({ step }) => step.invoke("twice", child, { nr: 21 }));
    expect(await world.run(await world.start(tested))).toMatchObject({ status: "completed", result: "42" });
  });

  test("waits for a run that is held while its workflow is paused", async () => {
    const world = await family(async ({ step }) => step.invoke("twice", child, { nr: 21 }));
    await world.ask((client) => client.pauseWorkflow("child"));
    const run = await world.start(tested);
    await world.pass("1 hour");
    expect((await childrenOf(world))[0]).toMatchObject({ status: "paused" });
    await world.ask((client) => client.resumeWorkflow("child"));
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "42" });
  });

  test("shows a parent that waits as waiting, and for which run", async () => {
    const world = await family(async ({ step }) => step.invoke("twice", child, { nr: 21 }), waiting);
    const run = await world.start(tested);
    await world.pass("1 hour");
    const [started] = await childrenOf(world);
    expect(await world.get(run.runId)).toMatchObject({ status: "waiting", dueAt: undefined });
    expect((await world.history(run)).pending).toMatchObject([
      { kind: "child", path: "twice", childRunId: started?.runId },
    ]);
  });

  test("throws a ChildFailedError with the error of a run that failed", async () => {
    const failing = child.handler(async () => {
      throw new NonRetryableError("no", { data: { nr: 7 } });
    });
    const world = await family(async ({ step }) => {
      try {
        return await step.invoke("twice", child, { nr: 1 });
      } catch (error) {
        return error instanceof ChildFailedError && { step: error.step, runId: error.runId, cause: error.cause };
      }
    }, failing);
    const view = await world.run(await world.start(tested));
    const [started] = await childrenOf(world);
    expect(view.result).toMatchObject({
      step: "twice",
      runId: started?.runId,
      cause: { name: "NonRetryableError", message: "no", data: { nr: 7 } },
    });
  });

  test("throws a StepError if the id is taken by another run, which it neither waits for nor cancels", async () => {
    const world = await family(async ({ step }) => {
      try {
        return await step.invoke("twice", child, { nr: 2 }, { id: "a1" });
      } catch (error) {
        if (!(error instanceof StepError)) throw error;
        return error.cause.code;
      }
    }, waiting);
    const other = await world.start(child, { nr: 1 }, { id: "a1" });
    const run = await world.start(tested);
    await world.pass("1 hour");
    expect(await world.get(run.runId)).toMatchObject({ status: "completed", result: "conflict" });
    expect(await childrenOf(world)).toMatchObject([{ runId: other.runId, status: "waiting" }]);
  });

  test.each(["cancel", "terminate"] as const)("throws a ChildFailedError after the %s of the run", async (verb) => {
    const world = await family(
      async ({ step }) => step.invoke("twice", child, { nr: 1 }).catch((error) => error.cause.name),
      waiting,
    );
    const run = await world.start(tested);
    await world.pass("1 hour");
    const [started] = await childrenOf(world);
    await world.ask((client) => client[verb](started?.runId ?? "", {}));
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "CancelledError" });
  });

  test("throws a ChildFailedError when the run has reached its timeout", async () => {
    const short = workflow({ name: "short", version: 1, signals: { go: z.unknown() }, timeout: "1 hour" });
    const world = await family(
      async ({ step }) => step.invoke("it", short).catch((error) => error.cause.code),
      short.handler(async ({ step }) => step.waitForSignal("go")),
    );
    expect(await world.run(await world.start(tested))).toMatchObject({ status: "completed", result: "run_timeout" });
    expect(world.time).toBe(3_600_000);
  });

  test("throws a TimeoutError after its timeout", async () => {
    const world = await family(
      async ({ step }) =>
        step
          .invoke("twice", child, { nr: 1 }, { timeout: "1 hour" })
          .catch((error) => error instanceof TimeoutError && error.message),
      waiting,
    );
    expect(await world.run(await world.start(tested))).toMatchObject({
      result: 'the invoked run "twice" was not over within 1 h',
    });
    expect(world.time).toBe(3_600_000);
  });

  test("works in map, all and race", async () => {
    const world = await family(async ({ step }) => {
      const mapped = await step.map("each", [1, 2, 3], (nr, { step }) => step.invoke("twice", child, { nr }));
      const both = await step.all("both", [
        ({ step }) => step.invoke("twice", child, { nr: 4 }),
        ({ step }) => step.run("plain", () => "p"),
      ]);
      const first = await step.race("first", [
        ({ step }) => step.invoke("twice", child, { nr: 5 }),
        ({ step }) => step.sleep("late", "1 day"),
      ]);
      return [mapped, both, first];
    });
    expect(await world.run(await world.start(tested))).toMatchObject({
      status: "completed",
      result: [["2", "4", "6"], ["8", "p"], "10"],
    });
  });

  test("gives a run that invokes itself its own result, and refuses to go deeper than 20 runs", async () => {
    const deep = child.handler(async ({ input, step }) =>
      step.invoke("deeper", child, { nr: input.nr + 1 }).catch((error) => `${input.nr} ${error.cause.code}`),
    );
    const world = await family(async ({ step }) => step.invoke("first", child, { nr: 1 }), deep);
    expect(await world.run(await world.start(tested))).toMatchObject({ result: "20 chain_too_long" });
  });

  test.each([
    ["invoke", "2"],
    ["start", { runId: expect.any(String) }],
  ] as const)(
    "refuses the 10,001st run of a parent, by step.%s, and says how many it may start",
    async (verb, first) => {
      const world = await family(async ({ step }) => {
        const started = await step[verb]("last", child, { nr: 1 });
        try {
          return await step[verb]("one too many", child, { nr: 2 });
        } catch (error) {
          if (!(error instanceof StepError)) throw error;
          return { started, cause: error.cause };
        }
      });
      const run = await world.start(tested);
      await database.pool.query("update layover.run_state set children = 9999 where run_id = $1", [run.runId]);
      const message = "the run has started 10000 runs, and may start no more";
      expect(await world.run(run)).toMatchObject({
        status: "completed",
        result: { started: first, cause: { code: "too_many_children", message } },
      });
      expect(await childrenOf(world)).toHaveLength(1);
    },
  );

  test("works where two workflows invoke each other", async () => {
    const other = workflow({ name: "other", version: 1, input: z.object({ nr: z.number() }), output: z.string() });
    const world = await World.begin(database, {
      workflows: [
        tested.handler(async ({ step }) => step.invoke("ask", child, { nr: 4 })),
        child.handler(async ({ input, step }) =>
          input.nr === 0 ? "." : `c${await step.invoke("down", other, { nr: input.nr - 1 })}`,
        ),
        other.handler(async ({ input, step }) =>
          input.nr === 0 ? "." : `o${await step.invoke("down", child, { nr: input.nr - 1 })}`,
        ),
      ],
    });
    expect(await world.run(await world.start(tested))).toMatchObject({ status: "completed", result: "coco." });
  });

  test("waits for a run whose version nobody carries, and goes on when somebody does", async () => {
    const asking = tested.handler(async ({ step }) => step.invoke("twice", child, { nr: 21 }));
    const world = await World.begin(database, { workflows: [asking] });
    const run = await world.start(tested);
    await world.pass("1 hour");
    expect(await world.get(run.runId)).toMatchObject({ status: "waiting" });
    expect(await childrenOf(world)).toMatchObject([{ status: "queued" }]);
    const { rows } = await database.pool.query("select layover.diagnose($1) as answer", [
      JSON.stringify({ namespace: world.namespace }),
    ]);
    expect(rows[0]?.answer.troubles).toMatchObject([{ workflow: "child", version: 1, runs: 1 }]);
    await world.deploy({ workflows: [asking, doubling] });
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "42" });
  });

  test("takes the ends of many runs, of several MiB together", async () => {
    const large = child.handler(async ({ input }) => `${input.nr}`.padEnd(400_000, "x"));
    const world = await family(async ({ step }) => {
      const ends = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((nr) => step.invoke("large", child, { nr })));
      return ends.map((text) => text.slice(0, 2));
    }, large);
    expect(await world.run(await world.start(tested))).toMatchObject({
      result: ["1x", "2x", "3x", "4x", "5x", "6x", "7x", "8x"],
    });
  });

  test("starts no run while its parent is paused, and starts it after the resume", async () => {
    let body = () => {};
    const world = await family(async ({ step }) => {
      await step.run("first", async () => {
        body();
        return 1;
      });
      return await step.invoke("twice", child, { nr: 21 });
    });
    const run = await world.start(tested);
    body = () =>
      void database.pool.query(
        "update layover.run_state set paused_at = layover.now(), due_at = null where run_id = $1",
        [run.runId],
      );
    await world.pass("1 hour");
    expect(await childrenOf(world)).toHaveLength(0);
    await world.ask((client) => client.resume(run.runId));
    expect(await world.run(run)).toMatchObject({ result: "42" });
    expect(await childrenOf(world)).toHaveLength(1);
  });
});
