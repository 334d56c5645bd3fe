/** `step.transaction`: what the body writes and the step's record are committed together, so exactly once. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { cancel, recordsOf } from "./cancelling.ts";
import { play, type TestedContext, type TestedStep, tested, worldOf } from "./playing.ts";
import type { World } from "./world.ts";
import type { Fate } from "./world-options.ts";

const database = testDatabase();
let ledgers = 0;

/** A table of its own, and the rows that were committed to it. */
async function aLedger() {
  const table = `ledger_${ledgers++}`;
  await database.query(`create table public.${table} (place text not null)`);
  return {
    insert: `insert into public.${table} (place) values ($1) returning place`,
    table: `public.${table}`,
    rows: async () =>
      (await database.query(`select place from public.${table} order by place`)).map(({ place }) => place),
  };
}

type Act = (step: Pick<TestedStep, "transaction">) => Promise<unknown>;

/** Where a transaction may stand, and how many of them there are. */
const places: Readonly<Record<string, (context: TestedContext, act: Act) => Promise<unknown>>> = {
  "the run's own turn": ({ step }, act) => act(step),
  "a branch": ({ step }, act) => Promise.all([act(step), step.run("quick", () => 1)]),
  "a map": ({ step }, act) => step.map("all", ["a"], (_, { step }) => act(step)),
  "a cleanup": ({ step }, act) => step.cleanup("tidy", ({ step }) => act(step)),
};
const fates: readonly Fate[] = ["fails before", "fails after", "dies before", "dies after"];

describe.each(Object.entries(places))("a transaction in %s", (_, stand) => {
  test("commits its writes and its record together, and gives its result", async () => {
    const ledger = await aLedger();
    const given: unknown[] = [];
    const { view, world, run } = await play(database, (context) =>
      stand(context, async (step) => {
        given.push(
          await step.transaction("book", async (db, { attempt }) => {
            const { rows } = await db.query(ledger.insert, ["a"]);
            return { rows, attempt };
          }),
        );
      }),
    );
    expect([view.status, given.at(-1), await ledger.rows()]).toEqual([
      "completed",
      { rows: [{ place: "a" }], attempt: 1 },
      ["a"],
    ]);
    const { records } = await world.history(run);
    expect(records.filter(({ path }) => path.endsWith("book"))).toMatchObject([{ kind: "step", attempts: 1 }]);
    expect(world.events.filter((event) => event.kind === "step_completed" && event.step.endsWith("book"))).toHaveLength(
      1,
    );
  });

  test.each(fates)("is carried out exactly once, whichever call to the database %s", async (fate) => {
    const told: unknown[] = [];
    for (let number = 1; ; number += 1) {
      const ledger = await aLedger();
      let met: string | undefined;
      const world: World = await worldOf(database, (context) =>
        stand(context, (step) =>
          step.transaction("book", async (db) => {
            await db.query(ledger.insert, ["a"]);
            return 1;
          }),
        ),
      );
      const run = await world.start(tested);
      let calls = 0;
      world.fate = ({ port, what }) => {
        if (port !== "query" || ++calls !== number) return "passes";
        met = what;
        return fate;
      };
      const { status } = await world.run(run);
      const rows = await ledger.rows();
      if (status !== "completed" || rows.length !== 1) told.push([number, met, status, rows]);
      if (met === undefined) break;
    }
    expect(told).toEqual([]);
  });
});

describe("a transaction in the cleanup of a run that was cancelled", () => {
  /** A run that was cancelled while it slept, and books then. */
  async function aCancelledRun(fate: (world: World) => World["fate"] = (world) => world.fate) {
    const ledger = await aLedger();
    const met: string[] = [];
    const world = await worldOf(database, async ({ step }) => {
      try {
        await step.sleep("nap", "1 day");
      } finally {
        await step.transaction("late", (db) => db.query(ledger.insert, ["late"])).catch(({ name }) => met.push(name));
        await step.cleanup("tidy", ({ step }) =>
          step.transaction("book", async (db, { attempt }) => {
            await db.query(ledger.insert, [`attempt ${attempt}`]);
            if (attempt < 2) throw new Error("not yet");
          }),
        );
      }
    });
    const run = await world.start(tested);
    await world.settle();
    world.fate = fate(world);
    await cancel(world, run);
    const { status } = await world.run(run);
    return { world, run, status, ledger, met };
  }

  test("commits its writes and its record together, after its retries, and one outside of it is refused", async () => {
    const { world, run, status, ledger, met } = await aCancelledRun();
    expect([status, await ledger.rows(), met]).toEqual(["cancelled", ["attempt 2"], ["CancelledError"]]);
    expect(await recordsOf({ world, run })).toEqual(["closing ", "step tidy/book"]);
  });

  test.each(fates)("is carried out exactly once, whichever call to the database %s", async (fate) => {
    const told: unknown[] = [];
    for (let number = 1; ; number += 1) {
      let calls = 0;
      const { world, run, status, ledger } = await aCancelledRun(
        () =>
          ({ port }) =>
            port === "query" && ++calls === number ? fate : "passes",
      );
      const [records, rows] = [await recordsOf({ world, run }), await ledger.rows()];
      if (status !== "cancelled" || rows.length !== 1 || records.length !== 2) told.push([number, status, rows]);
      if (calls < number) break;
    }
    expect(told).toEqual([]);
  });
});

test("what a body wrote is rolled back when it throws, and the next attempt begins anew", async () => {
  const ledger = await aLedger();
  const { view } = await play(database, ({ step }) =>
    step.transaction("book", async (db, { attempt }) => {
      await db.query(ledger.insert, [`attempt ${attempt}`]);
      if (attempt < 3) throw new Error("not yet");
    }),
  );
  expect([view.status, await ledger.rows()]).toEqual(["completed", ["attempt 3"]]);
});

test("a transaction that fails for good leaves nothing, and throws a StepError", async () => {
  const ledger = await aLedger();
  const { view } = await play(database, ({ step }) =>
    step.transaction("book", (db) => db.query(ledger.insert, [null]).then(() => {}), { retry: { maxAttempts: 2 } }),
  );
  expect(view).toMatchObject({ status: "failed", error: { name: "StepError" } });
  expect(await ledger.rows()).toEqual([]);
});

test.each(["40001", "40P01", "55P03"])(
  "a transaction that others stand in the way of (%s) is tried again, and never fails for good",
  async (state) => {
    const ledger = await aLedger();
    const { view } = await play(database, ({ step }) =>
      step.transaction(
        "book",
        async (db, { attempt }) => {
          await db.query(ledger.insert, ["a"]);
          if (attempt < 4)
            await db.query(`do $$ begin raise exception 'in the way' using errcode = '${state}'; end $$`);
        },
        { retry: { maxAttempts: 2 } },
      ),
    );
    expect([view.status, await ledger.rows()]).toEqual(["completed", ["a"]]);
  },
);

test("a transaction whose lease somebody else has by now is rolled back", async () => {
  const ledger = await aLedger();
  const steal = "update layover.run_state set token = gen_random_uuid() where namespace = $1 and token is not null";
  let bodies = 0;
  const world: World = await worldOf(database, ({ step }) =>
    step.transaction("book", async (db) => {
      bodies += 1;
      await db.query(ledger.insert, [`body ${bodies}`]);
      if (bodies === 1) await database.query(steal, [world.namespace]);
    }),
  );
  const run = await world.start(tested);
  expect(await world.run(run)).toMatchObject({ status: "completed" });
  expect(await ledger.rows()).toEqual(["body 2"]);
  expect((await world.history(run)).records).toMatchObject([{ attempts: 1 }]);
});

test("a body that takes longer than its timeout is rolled back, and writes nothing later", async () => {
  const ledger = await aLedger();
  const late: unknown[] = [];
  const world: World = await worldOf(database, ({ step }) =>
    step.transaction(
      "book",
      async (db, { attempt }) => {
        await db.query(ledger.insert, [`attempt ${attempt}`]);
        if (attempt > 1) return;
        await world.foreign("15 seconds");
        await db.query(ledger.insert, ["late"]).catch((error: Error) => late.push(error.message));
      },
      { timeout: "10 seconds", retry: { delay: "1s" } },
    ),
  );
  const run = await world.start(tested);
  expect(await world.run(run)).toMatchObject({ status: "completed" });
  expect(await ledger.rows()).toEqual(["attempt 2"]);
});

test.each([
  ["7s", { timeout: "7s" } as const],
  ["1min", {}],
])("a statement of a transaction may take as long as its step (%s)", async (limit, options) => {
  const { view } = await play(
    database,
    ({ step }) => step.transaction("ask", async (db) => (await db.query("show statement_timeout")).rows, options),
    { leaseMs: 5_000 },
  );
  expect(view.result).toEqual([{ statement_timeout: limit }]);
});

test("the isolation of a transaction is read committed, whatever the default of the role is", async () => {
  const { view } = await play(database, ({ step }) =>
    step.transaction("ask", async (db) => (await db.query("show transaction_isolation")).rows),
  );
  expect(view.result).toEqual([{ transaction_isolation: "read committed" }]);
});

test("what a handler logs and says after a transaction is told, though the next turn replays it", async () => {
  const ledger = await aLedger();
  const world = await worldOf(
    database,
    async ({ step, log }) => {
      await step.transaction("book", (db) => db.query(ledger.insert, ["a"]).then(() => {}));
      log.info("booked");
      step.setStatus("is booked");
      await step.sleep("nap", "1 hour");
    },
    { warmRuns: 0 },
  );
  const run = await world.start(tested);
  expect(await world.run(run)).toMatchObject({ status: "completed", customStatus: "is booked" });
  expect(world.logs.map(({ message }) => message)).toEqual(["booked"]);
});
