/** Runs that a run starts. */
import { ChildFailedError, type Contract, NonRetryableError, StepError, TimeoutError, workflow } from "layover";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Workflow } from "../../src/core/contract/contract.ts";
import { testDatabase } from "../postgres/database.ts";
import { type PlayOptions, type TestedHandler, tested } from "./playing.ts";
import { World } from "./world.ts";
import type { Fate } from "./world-options.ts";

const database = testDatabase();

const child = workflow({
  name: "child",
  version: 1,
  input: z.object({ nr: z.number() }),
  output: z.string(),
  signals: { go: z.unknown() },
});
const doubling = child.handler(async ({ input, step }) => step.run("double", () => `${input.nr * 2}`));
const waiting = child.handler(async ({ step }) => {
  await step.waitForSignal("go");
  return "went";
});

function family(handle: TestedHandler, of: Workflow = doubling, options: PlayOptions = {}): Promise<World> {
  return World.begin(database, { ...options, workflows: [tested.handler(handle), of] });
}

async function childrenOf(world: World, contract: Contract = child) {
  const { runs } = await world.ask((client) => client.list({ workflow: contract.name }));
  return runs;
}

describe("step.start", () => {
  test("starts a run, and does not wait for it", async () => {
    const world = await family(async ({ step }) => step.start("audit", child, { nr: 1 }), waiting);
    const run = await world.start(tested);
    const view = await world.run(run);
    expect(view.status).toBe("completed");
    const [started] = await childrenOf(world);
    expect(view.result).toEqual({ runId: started?.runId });
    expect(started).toMatchObject({ status: "waiting", input: { nr: 1 } });
  });

  test("gives the new run the id and the tags that it is given", async () => {
    const world = await family(async ({ step }) =>
      step.start("audit", child, { nr: 1 }, { id: "a1", tags: { order: "o1" } }),
    );
    await world.run(await world.start(tested));
    expect((await childrenOf(world))[0]).toMatchObject({ id: "a1", tags: { order: "o1" } });
  });

  test("tells the new run which run has started it", async () => {
    const told: (string | undefined)[] = [];
    const noting = child.handler(async ({ run }) => {
      told.push(run.parentRunId);
      return "";
    });
    const world = await family(async ({ step }) => step.start("audit", child, { nr: 1 }), noting);
    const run = await world.start(tested);
    await world.run(run);
    await world.pass("1 minute");
    expect(told).toEqual([run.runId]);
  });

  test("throws a StepError if the id is taken by another run", async () => {
    const world = await family(async ({ step }) => {
      try {
        return await step.start("audit", child, { nr: 2 }, { id: "a1" });
      } catch (error) {
        return error instanceof StepError ? error.cause.code : error;
      }
    });
    await world.start(child, { nr: 1 }, { id: "a1" });
    expect(await world.run(await world.start(tested))).toMatchObject({ status: "completed", result: "conflict" });
    expect(await childrenOf(world)).toHaveLength(1);
  });

  test("throws a StepError if the input does not fit the schema of the contract", async () => {
    const world = await family(async ({ step }) => {
      // @ts-expect-error a text is no number
      return await step.start("audit", child, { nr: "one" }).catch((error: StepError) => error.cause.code);
    });
    expect(await world.run(await world.start(tested))).toMatchObject({ result: "invalid_input" });
    expect(await childrenOf(world)).toHaveLength(0);
  });

  test("starts as many runs as it is called, also beside a step and more than one finish takes", async () => {
    const world = await family(async ({ step }) => {
      const all = Array.from({ length: 700 }, (_, nr) => step.start("audit", child, { nr }));
      const [one, ...runs] = await Promise.all([step.run("one", () => 1), ...all]);
      return [one, new Set(runs.map(({ runId }) => runId)).size];
    }, waiting);
    expect(await world.run(await world.start(tested))).toMatchObject({ status: "completed", result: [1, 700] });
  });

  test("ends a chain of runs of which each starts the next", async () => {
    const ends: unknown[] = [];
    const next = child.handler(async ({ input, step }) => {
      await step.start("next", child, { nr: input.nr + 1 }).catch((error) => ends.push([input.nr, error.cause.code]));
      return "";
    });
    const world = await family(async ({ step }) => step.start("first", child, { nr: 1 }), next);
    const run = await world.start(tested);
    await database.pool.query("update layover.run set chain = 997 where id = $1", [run.runId]);
    await world.run(run);
    await world.pass("10 minutes");
    expect(ends).toEqual([[3, "chain_too_long"]]);
  });
});

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

  describe("in a map with a maxConcurrency", () => {
    test.each(["complete", "cancel", "terminate"] as const)(
      "starts the next run when one of them has ended (%s)",
      async (way) => {
        const world = await family(async ({ step }) => {
          const each = [1, 2, 3, 4, 5];
          const ends = await step.mapSettled("each", each, async (nr, { step }) => step.invoke("it", child, { nr }), {
            maxConcurrency: 2,
          });
          return ends.map(({ status }) => status);
        }, waiting);
        const run = await world.start(tested);
        for (let ended = 0; ended < 5; ended += 1) {
          await world.pass("10 minutes");
          const open = (await childrenOf(world)).filter(({ status }) => status === "waiting");
          expect(open).toHaveLength(Math.min(2, 5 - ended));
          expect(await childrenOf(world)).toHaveLength(Math.min(5, ended + 2));
          const id = open.at(-1)?.runId ?? "";
          if (way === "complete") await world.ask((client) => client.signal(id, "go", null, { contract: child }));
          else await world.ask((client) => client[way](id, {}));
        }
        const status = way === "complete" ? "fulfilled" : "rejected";
        expect(await world.run(run)).toMatchObject({ status: "completed", result: Array(5).fill(status) });
      },
    );

    test("starts each run once, whichever process holds the parent in memory", async () => {
      const world = await family(
        async ({ step }) => {
          const calls = async () => {
            for (let call = 0; call < 6; call += 1) await step.waitForSignal("go");
          };
          const each = step.map("each", [1, 2, 3], (nr, { step }) => step.invoke("it", child, { nr }), {
            maxConcurrency: 1,
          });
          return (await Promise.all([each, calls()]))[0];
        },
        waiting,
        { processes: 2, warmRuns: 10 },
      );
      const run = await world.start(tested);
      for (let ended = 0; ended < 3; ended += 1) {
        await world.pass("1 minute");
        for (let call = 0; call < 2; call += 1) {
          await world.signal(run, tested, "go", null); // another process has the next turn
          await world.pass("1 minute");
        }
        const last = (await childrenOf(world)).find(({ status }) => status === "waiting");
        await world.ask((client) => client.signal(last?.runId ?? "", "go", null, { contract: child }));
      }
      expect(await world.run(run)).toMatchObject({ status: "completed", result: ["went", "went", "went"] });
      expect(await childrenOf(world)).toHaveLength(3);
    });

    test("has the timeout of a run count from its start, and gives its slot to the next one", async () => {
      const world = await family(
        async ({ step }) =>
          step.mapSettled(
            "each",
            [1, 2, 3],
            (nr, { step }) => step.invoke("it", child, { nr }, { timeout: "1 hour" }),
            { maxConcurrency: 1 },
          ),
        waiting,
      );
      const run = await world.start(tested);
      expect(await world.run(run)).toMatchObject({ status: "completed" });
      expect(Math.round(world.time / 3_600_000)).toBe(3);
      await world.pass("3 minutes");
      expect((await childrenOf(world)).map(({ status }) => status)).toEqual(Array(3).fill("cancelled"));
    });

    test("starts no further run once its parent is cancelled", async () => {
      const world = await family(
        async ({ step }) =>
          step.map("each", [1, 2, 3], (nr, { step }) => step.invoke("it", child, { nr }), { maxConcurrency: 1 }),
        waiting,
      );
      const run = await world.start(tested);
      await world.pass("1 hour");
      await world.ask((client) => client.cancel(run.runId));
      await world.pass("5 minutes");
      expect((await childrenOf(world)).map(({ status }) => status)).toEqual(["cancelled"]);
    });

    test("counts the runs again after the restart of its parent", async () => {
      const world = await family(
        async ({ step }) =>
          step.map("each", [1, 2, 3], (nr, { step }) => step.invoke("it", child, { nr }), { maxConcurrency: 1 }),
        waiting,
      );
      const run = await world.start(tested);
      await world.pass("1 hour");
      await world.ask((client) => client.pause(run.runId));
      await world.ask((client) => client.restart(run.runId));
      for (let nr = 1; nr <= 3; nr += 1) {
        await world.pass("3 minutes");
        const open = (await childrenOf(world)).filter(({ status }) => status === "waiting");
        expect(open).toHaveLength(1);
        await world.ask((client) => client.signal(open[0]?.runId ?? "", "go", null, { contract: child }));
      }
      expect(await world.run(run)).toMatchObject({ status: "completed", result: ["went", "went", "went"] });
    });

    test("gives a slot that came free during the pause of its parent to the next run after the resume", async () => {
      const world = await family(
        async ({ step }) =>
          step.map("each", [1, 2], (nr, { step }) => step.invoke("it", child, { nr }), { maxConcurrency: 1 }),
        waiting,
      );
      const run = await world.start(tested);
      await world.pass("1 hour");
      await world.ask((client) => client.pause(run.runId));
      const [first] = await childrenOf(world);
      await world.ask((client) => client.signal(first?.runId ?? "", "go", null, { contract: child }));
      await world.pass("1 hour");
      expect(await childrenOf(world)).toHaveLength(1);
      await world.ask((client) => client.resume(run.runId));
      await world.pass("3 minutes");
      expect((await childrenOf(world)).map(({ status }) => status).sort()).toEqual(["completed", "waiting"]);
    });

    test("goes on with its slots after the retry of a run and of its parent", async () => {
      let isDown = true;
      const failing = child.handler(async ({ input, step }) =>
        step.run("try", () => {
          if (isDown && input.nr === 2) throw new NonRetryableError("down");
          return `${input.nr}`;
        }),
      );
      const world = await family(
        async ({ step }) =>
          step.map("each", [1, 2, 3], (nr, { step }) => step.invoke("it", child, { nr }), { maxConcurrency: 1 }),
        failing,
      );
      const run = await world.start(tested);
      expect(await world.run(run)).toMatchObject({ status: "failed" });
      const failed = (await childrenOf(world)).find(({ status }) => status === "failed");
      isDown = false;
      await world.ask((client) => client.retry(failed?.runId ?? ""));
      await world.pass("1 minute");
      await world.ask((client) => client.retry(run.runId));
      expect(await world.run(run)).toMatchObject({ status: "completed", result: ["1", "2", "3"] });
      expect(await childrenOf(world)).toHaveLength(3);
    });

    test("keeps its slots while a run is held by the pause of its workflow", async () => {
      const world = await family(async ({ step }) =>
        step.map("each", [1, 2, 3], (nr, { step }) => step.invoke("it", child, { nr }), { maxConcurrency: 2 }),
      );
      await world.ask((client) => client.pauseWorkflow("child"));
      const run = await world.start(tested);
      await world.pass("1 hour");
      expect(await childrenOf(world)).toHaveLength(2);
      await world.ask((client) => client.resumeWorkflow("child"));
      expect(await world.run(run)).toMatchObject({ status: "completed", result: ["2", "4", "6"] });
    });
  });

  test("gives a run that invokes itself its own result, and refuses to go deeper than 20 runs", async () => {
    const deep = child.handler(async ({ input, step }) =>
      step.invoke("deeper", child, { nr: input.nr + 1 }).catch((error) => `${input.nr} ${error.cause.code}`),
    );
    const world = await family(async ({ step }) => step.invoke("first", child, { nr: 1 }), deep);
    expect(await world.run(await world.start(tested))).toMatchObject({ result: "20 chain_too_long" });
  });

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

describe("onParentEnd", () => {
  type InvokeStep = Parameters<TestedHandler>[0]["step"];
  const ways: Record<string, (step: InvokeStep, options: { onParentEnd?: "abandon" }) => Promise<unknown>> = {
    "the end of the parent": async (step, options) => {
      await Promise.race([step.invoke("it", child, { nr: 1 }, options), step.sleep("nap", "1 hour")]);
    },
    "the failure of the parent": async (step, options) => {
      await Promise.race([step.invoke("it", child, { nr: 1 }, options), step.sleep("nap", "1 hour")]);
      throw new NonRetryableError("no");
    },
    "the timeout of the invoke": async (step, options) => {
      await step.invoke("it", child, { nr: 1 }, { timeout: "1 hour", ...options }).catch(() => {});
      await step.sleep("after", "1 day");
    },
    "a race that is lost": async (step, options) => {
      await step.race("first", [
        ({ step }) => step.invoke("it", child, { nr: 1 }, options),
        ({ step }) => step.sleep("nap", "1 hour"),
      ]);
      await step.sleep("after", "1 day");
    },
  };

  describe.each(Object.entries(ways))("at %s", (_, way) => {
    test("cancels the run by default, at once", async () => {
      const world = await family(async ({ step }) => way(step, {}), waiting);
      await world.start(tested);
      await world.pass("61 minutes");
      expect((await childrenOf(world))[0]).toMatchObject({
        status: "cancelled",
        error: { message: "the run was cancelled: its parent waits for it no more" },
      });
    });

    test("lets the run go on if it says so", async () => {
      const world = await family(async ({ step }) => way(step, { onParentEnd: "abandon" }), waiting);
      await world.start(tested);
      await world.pass("61 minutes");
      expect((await childrenOf(world))[0]).toMatchObject({ status: "waiting" });
    });
  });

  test.each(["cancel", "terminate"] as const)("cancels the run at the %s of the parent", async (verb) => {
    const world = await family(async ({ step }) => step.invoke("it", child, { nr: 1 }), waiting);
    const run = await world.start(tested);
    await world.pass("1 hour");
    await world.ask((client) => client[verb](run.runId));
    await world.pass("3 minutes");
    expect(await world.get(run.runId)).toMatchObject({ status: "cancelled" });
    expect((await childrenOf(world))[0]).toMatchObject({ status: "cancelled" });
  });

  test("cancels the runs of the runs, too", async () => {
    const grandchild = workflow({ name: "grandchild", version: 1, signals: { go: z.unknown() } });
    const world = await World.begin(database, {
      workflows: [
        tested.handler(async ({ step }) => step.invoke("it", child, { nr: 1 })),
        child.handler(async ({ step }) => {
          await step.invoke("it", grandchild);
          return "";
        }),
        grandchild.handler(async ({ step }) => step.waitForSignal("go")),
      ],
    });
    const run = await world.start(tested);
    await world.pass("1 hour");
    await world.ask((client) => client.cancel(run.runId));
    await world.pass("5 minutes");
    expect((await childrenOf(world, grandchild))[0]).toMatchObject({ status: "cancelled" });
  });

  test("cancels the run when the parent is restarted, which starts another one", async () => {
    const world = await family(async ({ step }) => step.invoke("it", child, { nr: 1 }), waiting);
    const run = await world.start(tested);
    await world.pass("1 hour");
    await world.ask((client) => client.pause(run.runId));
    await world.ask((client) => client.restart(run.runId));
    await world.pass("3 minutes");
    expect((await childrenOf(world)).map(({ status }) => status)).toEqual(["waiting", "cancelled"]);
  });

  test("cancels the run when the parent continues as new", async () => {
    const world = await family(async ({ step, run }) => {
      if ((await step.run("lap", () => world.time)) > 0) return run.runId;
      await Promise.race([step.invoke("it", child, { nr: 1 }), step.sleep("nap", "1 hour")]);
      return await step.continueAsNew(undefined);
    }, waiting);
    await world.start(tested);
    await world.pass("65 minutes");
    expect((await childrenOf(world))[0]).toMatchObject({ status: "cancelled" });
  });

  test("a parent that is retried takes the run as it stands", async () => {
    let isDown = true;
    const failing = child.handler(async ({ step }) =>
      step.run("try", () => {
        if (isDown) throw new NonRetryableError("down");
        return "up";
      }),
    );
    const world = await family(async ({ step }) => step.invoke("it", child, { nr: 1 }), failing);
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "failed", error: { name: "ChildFailedError" } });
    const [failed] = await childrenOf(world);
    isDown = false;
    await expect(world.ask((client) => client.retry(run.runId))).rejects.toMatchObject({
      code: "child_failed",
      details: { children: failed?.runId },
    });
    await world.ask((client) => client.retry(failed?.runId ?? ""));
    await world.pass("1 minute");
    await world.ask((client) => client.retry(run.runId));
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "up" });
    expect(await childrenOf(world)).toHaveLength(1);
  });

  test("a parent that is cancelled after its retry cancels the run that it had started before", async () => {
    let isDown = true;
    const failing = child.handler(async ({ step }) => {
      await step.run("try", () => {
        if (isDown) throw new NonRetryableError("down");
      });
      await step.sleep("nap", "1 day");
      return "up";
    });
    const world = await family(async ({ step }) => step.invoke("it", child, { nr: 1 }), failing);
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    isDown = false;
    const [started] = await childrenOf(world);
    await world.ask((client) => client.retry(started?.runId ?? ""));
    await world.pass("1 minute");
    await world.ask((client) => client.retry(run.runId));
    await world.pass("1 minute");
    expect(await world.get(run.runId)).toMatchObject({ status: "waiting" });
    await world.ask((client) => client.cancel(run.runId));
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(await childrenOf(world)).toMatchObject([{ status: "cancelled" }]);
  });

  test.each([
    ["has cleaned up", "5 minutes", 300_000],
    ["has a day at most", "3 days", 86_400_000],
  ] as const)("has the undos of the parent wait until the run %s", async (_, nap, ms) => {
    const order: unknown[] = [];
    const cleaning = child.handler(async ({ step }) => {
      try {
        await step.waitForSignal("go");
      } finally {
        await step.cleanup("tidy", ({ step }) => step.sleep("nap", nap));
        order.push("child");
      }
      return "";
    });
    const world: World = await family(async ({ step }) => {
      await step.run("charge", () => 1, { compensate: () => order.push(["undo", world.time]) });
      await Promise.all([
        step.invoke("it", child, { nr: 1 }),
        step.sleep("nap", "1 hour").then(() => {
          throw new NonRetryableError("no");
        }),
      ]);
    }, cleaning);
    // Its cleanup may take longer than a day here.
    const run = await world.start(tested);
    await world.pass("61 minutes");
    if (ms > 3_600_000)
      await database.pool.query("update layover.run_state set timeout_at = null where cancelled_position is not null");
    expect(await world.get(run.runId)).toMatchObject({ status: "compensating" });
    expect(await world.run(run)).toMatchObject({ status: "failed", undos: { owed: 1, done: 1, failed: 0 } });
    const undo = order.find((each) => Array.isArray(each));
    const late = Array.isArray(undo) ? Number(undo[1]) - 3_600_000 - ms : Number.NaN;
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan(6 * 3_600_000);
    if (ms < 3_600_000) expect(order[0]).toBe("child");
  });
});

describe("compensate of step.invoke", () => {
  const no = () => new NonRetryableError("no");
  const ways: Record<string, { of: Workflow; handle: (undo: InvokeUndo) => TestedHandler; undone: unknown[] }> = {
    "undoes a run that succeeded, with its result": {
      of: doubling,
      handle:
        (compensate) =>
        async ({ step }) => {
          await step.invoke("it", child, { nr: 21 }, { compensate });
          throw no();
        },
      undone: ["42", "succeeded", undefined],
    },
    "undoes a run that failed": {
      of: child.handler(async () => {
        throw new NonRetryableError("down");
      }),
      handle:
        (compensate) =>
        async ({ step }) => {
          await step.invoke("it", child, { nr: 1 }, { compensate });
        },
      undone: [undefined, "unknown", "down"],
    },
    "undoes a run that was not over in time": {
      of: waiting,
      handle:
        (compensate) =>
        async ({ step }) => {
          await step.invoke("it", child, { nr: 1 }, { compensate, timeout: "1 hour" });
        },
      undone: [undefined, "unknown", undefined],
    },
    "undoes a run that its parent left": {
      of: waiting,
      handle:
        (compensate) =>
        async ({ step }) => {
          const nap = step.sleep("nap", "1 hour").then(() => Promise.reject(no()));
          await Promise.all([step.invoke("it", child, { nr: 1 }, { compensate: { run: compensate } }), nap]);
        },
      undone: [undefined, "unknown", undefined],
    },
  };
  type InvokeUndo = (
    result: string | undefined,
    context: { outcome: string; error: { message: string } | undefined; original: { runId: string } },
  ) => unknown;

  test.each(Object.entries(ways))("%s", async (_, { of, handle, undone }) => {
    const told: unknown[] = [];
    const world = await family(
      handle((result, { outcome, error, original }) => told.push([result, outcome, error?.message, original.runId])),
      of,
    );
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "failed", undos: { owed: 1, done: 1, failed: 0 } });
    expect(told).toEqual([[...undone, (await childrenOf(world))[0]?.runId]]);
  });

  test("undoes no run that could not be started", async () => {
    const told: unknown[] = [];
    const world = await family(async ({ step }) => {
      await step.invoke("it", child, { nr: 1 }, { id: "a1", compensate: () => told.push("undone") });
    });
    await world.start(child, { nr: 1 }, { id: "a1" });
    expect(await world.run(await world.start(tested))).toMatchObject({ status: "failed" });
    expect(told).toEqual([]);
  });

  test("undoes no run of before a restart that the run did not start again", async () => {
    const told: unknown[] = [];
    const world = await family(async ({ step }) => {
      const compensate = () => told.push("undone");
      await step.map("each", [1, 2], (nr, { step }) => step.invoke("it", child, { nr }, { compensate }), {
        maxConcurrency: 1,
      });
    }, waiting);
    const run = await world.start(tested);
    await world.pass("1 hour");
    const [first] = await childrenOf(world);
    await world.ask((client) => client.signal(first?.runId ?? "", "go", null, { contract: child }));
    await world.pass("1 hour");
    await world.ask((client) => client.pause(run.runId));
    await world.ask((client) => client.restart(run.runId));
    await world.pass("3 minutes");
    await world.ask((client) => client.cancel(run.runId));
    await world.pass("10 minutes");
    expect(await world.get(run.runId)).toMatchObject({ status: "cancelled" });
    expect(told).toHaveLength(1);
  });
});

describe("whatever dies in between", () => {
  test.each(Array.from({ length: 12 }, (_, seed) => seed + 1))(
    "each run is started once, and its end reaches the parent once (%i)",
    async (seed) => {
      let bodies = 0;
      const counting = child.handler(async ({ input, step }) => {
        await step.sleep("nap", "10s");
        return await step.run("double", () => {
          bodies += 1;
          return `${input.nr * 2}`;
        });
      });
      const world = await family(
        async ({ step }) => {
          const { runId } = await step.start("audit", child, { nr: 1 });
          const ends = await step.map(
            "each",
            [1, 2, 3, 4],
            (nr, { step }) => step.invoke("twice", child, { nr }),
            seed % 2 === 0 ? {} : { maxConcurrency: 2 },
          );
          return [runId, ends];
        },
        counting,
        { seed, isShuffled: true },
      );
      const run = await world.start(tested);
      let calls = 0;
      world.fate = () => {
        calls += 1;
        if (calls > 120 || world.chance.below(5) > 0) return "passes";
        return world.chance.pick<Fate>(["fails before", "fails after", "dies before", "dies after"]);
      };
      const view = await world.run(run);
      expect(view).toMatchObject({ status: "completed", result: [expect.any(String), ["2", "4", "6", "8"]] });
      await world.pass("10 minutes");
      const children = await childrenOf(world);
      expect(children.map(({ status }) => status)).toEqual(children.map(() => "completed"));
      expect(children).toHaveLength(5);
      expect((await world.history(run)).records.filter(({ kind }) => kind === "child")).toHaveLength(4);
      expect(bodies).toBeGreaterThanOrEqual(5);
    },
  );
});
