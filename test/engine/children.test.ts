/** Runs that a run starts and does not wait for: `step.start`. And how many runs one finish starts. */
import { StepError, workflow } from "layover";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { child, childrenOf, familiesOn, waiting } from "./families.ts";
import { tested } from "./playing.ts";
import type { Fate } from "./world-options.ts";

const database = testDatabase();
const family = familiesOn(database);

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

  test("starts with one finish no more runs than have four mebibytes of input together, and the others with the next one", async () => {
    const long = workflow({ name: "long", version: 1, input: z.string() });
    const world = await family(
      async ({ step }) => {
        const names = ["a", "b", "c", "d", "e", "f"];
        const runs = await Promise.all(names.map((name) => step.start(name, long, name.repeat(1_000_000))));
        return new Set(runs.map(({ runId }) => runId)).size;
      },
      long.handler(async () => ""),
    );
    const started = new Set<number>();
    world.fate = async (): Promise<Fate> => {
      const counted = "select count(*)::integer as runs from layover.run where workflow = 'long' and namespace = $1";
      const { rows } = await database.pool.query<{ runs: number }>(counted, [world.namespace]);
      for (const { runs } of rows) started.add(runs);
      return "passes";
    };
    expect(await world.run(await world.start(tested))).toMatchObject({ status: "completed", result: 6 });
    expect([...started]).toEqual([0, 4, 6]);
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

test.each(["start", "invoke"] as const)(
  "step.%s starts 500 runs with one finish, and the others with the next one",
  async (verb) => {
    const world = await family(async ({ step }) => {
      await Promise.all(Array.from({ length: 700 }, (_, nr) => step[verb]("audit", child, { nr })));
    }, waiting);
    const started = new Set<number>();
    world.fate = async ({ what }): Promise<Fate> => {
      if (what !== "finish_turns") return "passes";
      const counted = "select count(*)::integer as runs from layover.run where workflow = 'child' and namespace = $1";
      const { rows } = await database.pool.query<{ runs: number }>(counted, [world.namespace]);
      for (const { runs } of rows) started.add(runs);
      return "passes";
    };
    const run = await world.start(tested);
    await world.settle();
    expect(await world.get(run.runId)).toMatchObject({ status: verb === "start" ? "completed" : "waiting" });
    expect([...started]).toEqual([0, 500, 700]);
  },
);
