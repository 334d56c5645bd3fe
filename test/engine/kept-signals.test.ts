/** Signals that webhooks deliver before their run is there: they reach it whatever comes between, and cost nothing while they wait. */
import { signal, start } from "layover/webhooks";
import { describe, expect, test } from "vitest";
import { deliver } from "../delivering.ts";
import { testDatabase } from "../postgres/database.ts";
import { tested, worldOf } from "./playing.ts";
import type { World } from "./world.ts";

const database = testDatabase();

const delivered = (world: World, id: string, what: "start" | "signal") =>
  world.ask((client) =>
    client.within((context) => {
      const deed =
        what === "start" ? start(tested, undefined, { id: "r1" }) : signal(tested, { id: "r1" }, "go", "early");
      return deliver(context, { webhook: "shop", delivery: id }, [deed]);
    }),
  );

const waiting = (database: { readonly pool: { query(text: string): Promise<{ rows: readonly unknown[] }> } }) =>
  database.pool.query("select 1 from layover.kept_signal").then(({ rows }) => rows.length);

const isSomebodyWaiting = async () => {
  const { rows } = await database.pool.query(
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return rows.length > 0;
};

describe("a signal that comes before its run", () => {
  test("is taken by the run that starts a day later, and the wake rule holds all the while", async () => {
    const world = await worldOf(database, ({ step }) => step.waitForSignal("go"));
    await delivered(world, "d1", "signal");
    await world.pass("1 day");
    expect(await waiting(database)).toBe(1);
    const answer = await delivered(world, "d2", "start");
    const [{ runId = "" } = {}] = answer.deeds;
    await world.pass("10s");
    expect(await world.get(runId ?? "")).toMatchObject({ status: "completed", result: "early" });
    expect(await waiting(database)).toBe(0);
  });

  test("is taken by the first turn of a run that was restarted before it", async () => {
    const world = await worldOf(database, ({ step }) => step.waitForSignal("go", { timeout: 0, onTimeout: "null" }));
    await delivered(world, "d4", "signal");
    await world.pass("10 minutes"); // from now on the scheduler looks at it when it expires, and not before
    const run = await world.ask((client) => client.start(tested, undefined, { id: "r1", delay: "1 hour" }));
    await world.ask((client) => client.pause(run.runId));
    await world.ask((client) => client.restart(run.runId));
    await world.pass("1 minute");
    expect(await world.get(run.runId)).toMatchObject({ status: "completed", result: "early" });
    expect(await waiting(database)).toBe(0);
  });

  test("is given up after 96 hours, though somebody has it locked then who never commits", async () => {
    const world = await worldOf(database, ({ step }) => step.waitForSignal("go"));
    await delivered(world, "d5", "signal");
    await world.pass("95 hours");
    const other = await database.pool.connect();
    await other.query("begin");
    await other.query("select from layover.kept_signal for update");
    const passed = world.pass("2 hours");
    await expect.poll(isSomebodyWaiting).toBe(true);
    await other.query("rollback");
    other.release();
    await passed;
    expect(await waiting(database)).toBe(0);
  });

  test("is given up after 96 hours, and the operator is told", async () => {
    const world = await worldOf(database, ({ step }) => step.waitForSignal("go"));
    await delivered(world, "d3", "signal");
    await world.pass("1 hour");
    const before = world.statements();
    await world.pass("94 hours");
    expect(await waiting(database)).toBe(1);
    expect(world.statements()).toBe(before);
    await world.pass("2 hours");
    expect(await waiting(database)).toBe(0);
    expect(world.events.filter(({ kind }) => kind === "delivery_refused")).toMatchObject([
      { delivery: "d3", outcome: "expired" },
    ]);
  });
});
