/** A result that the database does not take is kept, with its lease, and sent again: no body is carried out twice for it. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { acceptRecords, refuseRecords } from "../postgres/refusals.ts";
import { tested, worldOf } from "./playing.ts";
import type { World } from "./world.ts";

const database = testDatabase();
const minute = 60_000;

/** Runs of one step that takes a second, all of them in a batch. */
async function aBatch(size: number): Promise<{ world: World; bodies: string[]; runs: { readonly runId: string }[] }> {
  const bodies: string[] = [];
  const world: World = await worldOf(
    database,
    async ({ step, run }) => {
      await step.run("charge", async () => {
        bodies.push(run.runId);
        await world.foreign("1s");
      });
    },
    { batch: 100, invocation: { maxSteps: 100 } },
  );
  const runs = Array.from({ length: size }, () => ({ runId: world.chance.uuid() }));
  const calls = runs.map(({ runId }) => ({
    namespace: world.namespace,
    runId,
    workflow: "tested",
    version: 1,
    input: '1{"$":"undefined"}',
    isInputParsed: true,
  }));
  const text = "select layover.start_run(call) from jsonb_array_elements($1::jsonb) as call";
  await database.pool.query(text, [JSON.stringify(calls)]);
  await world.tick();
  return { world, bodies, runs };
}

async function statuses(world: World, runs: readonly { readonly runId: string }[]): Promise<Record<string, number>> {
  const views = await Promise.all(runs.map(({ runId }) => world.get(runId)));
  return Object.fromEntries(
    Object.entries(Object.groupBy(views, ({ status }) => status)).map(([status, some]) => [status, some?.length ?? 0]),
  );
}

describe("while the database is away", () => {
  test.each([5, 30, 180])(
    "for %i s, 500 results in memory are kept, and each body is carried out once",
    async (seconds) => {
      const { world, bodies, runs } = await aBatch(500);
      world.fate = () => (world.time >= 500 && world.time < 500 + seconds * 1_000 ? "fails before" : "passes");
      await world.run(...runs);
      expect(await statuses(world, runs)).toEqual({ completed: 500 });
      expect(bodies).toHaveLength(500);
      expect(world.time).toBeLessThanOrEqual(seconds * 1_000 + 15_000);
    },
    120_000, // the wake rule is looked at after each of the statements
  );

  test("a step under way keeps its lease: it is renewed before anybody looks for what seems abandoned", async () => {
    let bodies = 0;
    const world: World = await worldOf(database, async ({ step }) =>
      step.run(
        "long",
        async () => {
          bodies += 1;
          await world.foreign("10 minutes");
        },
        { timeout: "1 hour" },
      ),
    );
    world.fate = () => (world.time >= 10_000 && world.time < 4 * minute ? "fails before" : "passes");
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(bodies).toBe(1);
    expect(world.time).toBe(10 * minute);
  });

  test("nothing new is claimed, and what was dispatched meanwhile is carried out afterwards", async () => {
    const { world, bodies, runs } = await aBatch(1);
    world.fate = ({ what }) => (what === "finish_turns" && world.time < minute ? "fails before" : "passes");
    await world.pass("10s");
    const later = await world.start(tested);
    await world.pass("40s");
    expect(bodies).toEqual([runs[0]?.runId]);
    expect(world.statements("claim_turns")).toBe(1);
    expect(await world.run(...runs, later)).toMatchObject({ status: "completed" });
    expect(bodies).toEqual([runs[0]?.runId, later.runId]);
  });

  test("the failure is told once, however many results it held and however often they are sent again", async () => {
    const { world, runs } = await aBatch(50);
    world.fate = ({ what }) => (what === "finish_turns" && world.time < minute ? "fails before" : "passes");
    await world.run(...runs);
    expect(world.errors.map(({ doing }) => doing)).toEqual([expect.stringContaining("finishing a turn of run ")]);
  });
});

describe("what the database refuses", () => {
  test.each(["53100", "25006", "42501", "58030"])(
    "for its own reasons (%s) for 15 minutes is recorded when it can be, and blocks nothing",
    async (sqlState) => {
      const { world, bodies, runs } = await aBatch(20);
      await refuseRecords(database.pool, sqlState);
      try {
        await world.pass("15 minutes");
        expect(await statuses(world, runs)).toEqual({ running: 20 });
      } finally {
        await acceptRecords(database.pool);
      }
      await world.run(...runs);
      expect(await statuses(world, runs)).toEqual({ completed: 20 });
      expect(bodies).toHaveLength(20);
      expect(world.time).toBeLessThanOrEqual(16 * minute);
    },
  );

  test.each(["XX001", "P0001", "23505", "55P03"])("of one run (%s) holds up no other", async (sqlState) => {
    const { world, bodies, runs } = await aBatch(3);
    await refuseRecords(database.pool, sqlState, `new.run_id = '${runs[1]?.runId}'`);
    try {
      await world.pass("5 minutes");
      const later = await world.start(tested);
      await world.pass("5s");
      expect(await statuses(world, [...runs, later])).toEqual({ completed: 3, running: 1 });
    } finally {
      await acceptRecords(database.pool);
    }
    expect(await world.run(...runs)).toMatchObject({ status: "completed" });
    await world.pass("1 minute");
    expect(await statuses(world, runs)).toEqual({ completed: 3 });
    expect(bodies).toHaveLength(4);
  });
});

describe.each([
  ["alone", false],
  ["beside another", true],
])("a step %s whose result the database cannot store", (_, isBeside) => {
  const isOfStep = "new.path = 'charge' and not new.is_failure";

  async function aCharge(sqlState: string, condition: string) {
    let bodies = 0;
    let caught: unknown;
    const world = await worldOf(database, async ({ step }) => {
      const charge = async () => {
        try {
          return await step.run("charge", () => `charge ${++bodies}`);
        } catch (error) {
          caught = error;
          return "lost";
        }
      };
      const [result] = isBeside ? await Promise.all([charge(), step.run("other", () => 0)]) : [await charge()];
      return result;
    });
    const run = await world.start(tested);
    await refuseRecords(database.pool, sqlState, condition);
    try {
      const view = await world.run(run);
      return { view, bodies, caught, history: await world.history(run), world };
    } finally {
      await acceptRecords(database.pool);
    }
  }

  test.each(["22P05", "54000"])(
    "has failed with a code of its own and is not carried out again (%s)",
    async (sqlState) => {
      const { view, bodies, caught, history } = await aCharge(sqlState, isOfStep);
      expect(view).toMatchObject({ status: "completed", result: "lost" });
      expect(bodies).toBe(1);
      expect(caught).toMatchObject({
        name: "StepError",
        attempts: 1,
        cause: {
          code: "result_lost",
          message: `step "charge" is done, and the database cannot store its result: refused (${sqlState})`,
        },
      });
      const charge = history.records.find(({ path }) => path === "charge");
      expect(charge).toMatchObject({ attempts: 1, isFailure: true });
    },
  );

  test("blocks its run, with the reason, where not even that can be stored", async () => {
    const { view, bodies } = await aCharge("54000", "new.path = 'charge'");
    expect(view).toMatchObject({ status: "blocked", blocked: expect.stringContaining("refused (54000)") });
    if (!isBeside) expect(bodies).toBe(1); // the other branch's record has the run looked at once more
  });
});

test("a step whose result can be stored keeps it, though what follows from it in the same turn cannot", async () => {
  let bodies = 0;
  const world = await worldOf(database, async ({ step }) => {
    const charge = await step.run("charge", () => `charge ${++bodies}`);
    await step.sleep("nap", 0);
    return charge;
  });
  const run = await world.start(tested);
  await refuseRecords(database.pool, "22P05", "new.path = 'nap'");
  try {
    expect(await world.run(run)).toMatchObject({ status: "blocked" });
  } finally {
    await acceptRecords(database.pool);
  }
  expect((await world.history(run)).records).toMatchObject([{ path: "charge", value: "charge 1" }]);
  expect(bodies).toBe(1);
});
