/** Turns that come late, or where the database's clock went back: nobody waits longer for it, and time never does. */
import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { tested, worldOf } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();

describe("a turn whose process died", () => {
  test("is carried out in its group as soon as a dispatch of it comes that does not know, though the tick is not due", async () => {
    let bodies = 0;
    const world: World = await worldOf(
      database,
      ({ step }) => step.run("deadly", () => (++bodies <= 2 ? world.die() : bodies)),
      { leaseMs: 10_000 },
    );
    const run = await world.start(tested);
    for (const deaths of [1, 2]) {
      await world.pass("11s");
      expect(bodies).toBe(deaths);
      await world.platform.dispatch([{ runId: run.runId, turn: 1 }], 0);
      await world.pass("1s");
    }
    expect(await world.get(run.runId)).toMatchObject({ status: "completed", result: 3 });
  });

  test("waits for no body of the call that learned of its group", async () => {
    let bodies = 0;
    const contract = workflow({ name: "mixed", version: 1 });
    const world: World = await World.begin(database, {
      workflows: [
        contract.handler(({ step, run }) =>
          step.run("it", async () => {
            if (run.id === "slow") return await world.foreign("10s");
            bodies += 1;
            return bodies <= 2 ? world.die() : bodies;
          }),
        ),
      ],
      leaseMs: 10_000,
      batch: 10,
    });
    const deadly = await world.start(contract, undefined, { id: "deadly" });
    await world.pass("11s");
    await world.platform.dispatch([{ runId: deadly.runId, turn: 1 }], 0);
    await world.pass("11s");
    expect(bodies).toBe(2);
    const slow = await world.start(contract, undefined, { id: "slow" });
    await world.platform.dispatch(
      [deadly, slow].map(({ runId }) => ({ runId, turn: 1 })),
      0,
    );
    await world.pass("1s");
    expect(await world.get(slow.runId)).toMatchObject({ status: "running" });
    expect(await world.get(deadly.runId)).toMatchObject({ status: "completed", result: 3 });
  });
});

describe("a turn whose lease may be over when its process learns that it has it", () => {
  test.each([
    ["claim", "claim_turns", 1],
    ["finish of the turn before", "finish_turns", 2],
  ] as const)("renews it before its body begins: the answer of its %s came late", async (_, late, bodies) => {
    const calls: string[] = [];
    const before: string[][] = [];
    const note = () => void before.push(calls.slice(calls.lastIndexOf(late)));
    const world = await worldOf(
      database,
      async ({ step }) => {
        await step.run("first", note);
        await step.run("second", note);
      },
      { leaseMs: 10_000, invocation: { maxSteps: 5, budgetMs: 60_000 } },
    );
    world.fate = ({ what }) => {
      calls.push(what);
      return what === late && calls.filter((call) => call === late).length === 1 ? "is answered late" : "passes";
    };
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(before).toHaveLength(2);
    expect(before[bodies - 1]).toContain("renew_leases");
  });
});

describe("where the database's clock went back by hours", () => {
  test.each([0, 10])("a record is never before the one ahead of it, whatever is kept warm (%i)", async (warmRuns) => {
    const world = await worldOf(
      database,
      async ({ step }) => {
        await step.run("a", () => 1);
        const before = step.now();
        await step.waitForSignal("go");
        await step.run("b", () => 2);
        return step.now() >= before;
      },
      { warmRuns },
    );
    const run = await world.start(tested);
    await world.pass("1 minute");
    for (const [table, column] of [
      ["record", "recorded_at"],
      ["run_state", "last_record_at"],
    ]) {
      const text = `update layover.${table} set ${column} = ${column} + interval '5 h' where run_id = $1`;
      await world.database.pool.query(text, [run.runId]);
    }
    await world.signal(run, tested, "go", null);
    expect(await world.run(run)).toMatchObject({ status: "completed", result: true });
    const { records } = await world.history(run);
    const times = records.map(({ recordedAt }) => recordedAt.getTime());
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    expect(records.map(({ path }) => path)).toEqual(["a", "go", "b"]);
  });
});
