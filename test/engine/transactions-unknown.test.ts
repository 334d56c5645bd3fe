/** A transaction of which nobody knows whether it was committed: its finish is never sent again, and the next claim sees. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { inOneStatement } from "../simulation/one-statement.ts";
import { type PlayOptions, tested, worldOf } from "./playing.ts";

const database = testDatabase();
const leaseMs = 60_000;
let ledgers = 0;

/** How each driver does it, and the call after which a transaction is committed. */
const ways: readonly (readonly [driver: string, commit: string, options: PlayOptions])[] = [
  ["node-postgres or PGlite", "commit", {}],
  ["Neon over HTTP, where it is one request", "finish_once", { together: inOneStatement }],
];

describe.each(ways)("a transaction by %s", (_, commit, options) => {
  const play = async (fate: "fails after" | "fails before" | "is never answered", isBranch: boolean) => {
    const table = `public.entry_${ledgers++}`;
    await database.query(`create table ${table} (body integer not null)`);
    let bodies = 0;
    const world = await worldOf(
      database,
      async ({ step }) => {
        const book = step.transaction("book", async (db) => {
          bodies += 1;
          db.write(`insert into ${table} (body) values ($1)`, [bodies]);
          return bodies;
        });
        return isBranch ? (await Promise.all([book, step.run("quick", () => 1)]))[0] : await book;
      },
      { ...options, leaseMs },
    );
    let commits = 0;
    world.fate = ({ what }) => (what === commit && ++commits === 1 ? fate : "passes");
    const { status, result } = await world.run(await world.start(tested));
    const rows = await database.query(`select body from ${table}`);
    return { world, told: { status, result, bodies, rows, finishes: world.statements("finish_once") } };
  };
  const once = { status: "completed", result: 1, bodies: 1, rows: [{ body: 1 }], finishes: 1 };

  describe.each([
    ["in the run's own turn", false],
    ["in a branch", true],
  ] as const)("%s", (_, isBranch) => {
    test.each(["fails after", "is never answered"] as const)(
      "whose commit %s is not sent again: its lease lapses, and the next claim finds its record",
      async (fate) => {
        const { world, told } = await play(fate, isBranch);
        expect(told).toEqual(once);
        expect(world.time).toBeGreaterThanOrEqual(leaseMs);
      },
    );

    test("that was rolled back for certain is an attempt that failed, and its body is carried out again", async () => {
      const { world, told } = await play("fails before", isBranch);
      expect(told).toEqual({ ...once, result: 2, bodies: 2, rows: [{ body: 2 }], finishes: expect.any(Number) });
      expect(world.time).toBeLessThan(leaseMs);
    });
  });
});

test("the finish of a transaction that went through is sent once, and its lease is not waited for", async () => {
  const world = await worldOf(database, ({ step }) => step.transaction("book", async () => "booked"), { leaseMs });
  const run = await world.start(tested);
  expect(await world.run(run)).toMatchObject({ status: "completed", result: "booked" });
  expect(world.statements("finish_once")).toBe(1);
  expect(world.time).toBeLessThan(leaseMs);
});
