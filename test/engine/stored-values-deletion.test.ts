/** Deletion of stored values: they go with the last run that holds them. */
import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { aWorld, both, mebibyte, report, sentOn, text } from "./storing.ts";

const database = testDatabase();

describe("values of a run that is gone", () => {
  test("go an hour later, and no sooner", async () => {
    const { world, keys, held } = await aWorld(database);
    const run = await world.start(report, text("i"));
    await sentOn(world, run);
    await world.pass("2 hours"); // each is looked at once, as its run is there
    await world.tick();
    await world.ask((client) => client.delete(run.runId));
    await world.pass("59 minutes");
    await world.tick();
    expect(keys()).toHaveLength(4);
    await world.pass("2 minutes");
    await world.tick();
    expect([keys(), await held()]).toEqual([[], []]);
  });

  test("go by an alarm of their own, though nothing else is due", async () => {
    const { world, keys } = await aWorld(database, { keepMs: 24 * 3_600_000 });
    const run = await world.start(report, text("i"));
    await sentOn(world, run);
    await world.pass("26 hours");
    await world.tick(); // deletes the run, and arms what comes after it
    await world.pass("2 hours");
    expect(keys()).toEqual([]);
  });

  test("stay for the run that was forked from it, and go with that", async () => {
    const { world, keys, held } = await aWorld(database);
    const run = await world.start(report, text("i"));
    await sentOn(world, run);
    const fork = await world.ask((client) => client.fork(run.runId));
    await world.ask((client) => client.delete(run.runId));
    await world.pass("3 hours");
    await world.tick();
    expect(await world.get(fork.runId)).toMatchObject({ input: text("i") });
    await sentOn(world, fork);
    expect((await held()).every(({ run_id }) => run_id === fork.runId)).toBe(true);
    await world.ask((client) => client.delete(fork.runId));
    await world.pass("3 hours");
    await world.tick();
    expect([keys(), await held()]).toEqual([[], []]);
  });

  test("stay for the parent that has its result", async () => {
    const parent = workflow({ name: "parent", version: 1, output: z.number(), signals: { go: z.null() } });
    const asks = parent.handler(async ({ step }) => {
      const told = await step.invoke("child", report, text("i"));
      await step.waitForSignal("go");
      return told.length;
    });
    const { world, keys } = await aWorld(database, { workflows: [both, asks] });
    const run = await world.start(parent);
    await world.pass("1 minute");
    const { rows } = await database.pool.query<{ id: string }>("select id from layover.run where parent_run_id = $1", [
      run.runId,
    ]);
    const child = { runId: rows[0]?.id ?? "" };
    await world.ask((client) => client.pause(run.runId)); // it does not look at the result before the child is gone
    await sentOn(world, child);
    await world.pass("1 minute");
    await world.ask((client) => client.delete(child.runId));
    await world.pass("3 hours");
    await world.tick();
    expect(keys()).toHaveLength(1); // what else the child had is gone with it
    await world.ask((client) => client.resume(run.runId));
    await world.ask((client) => client.signal(run.runId, "go", null, { contract: parent }));
    expect(await world.run(run)).toMatchObject({ status: "completed", result: 2 * mebibyte + 10 });
  });

  test("go if the run was never started, as its start failed", async () => {
    const { world, keys, held } = await aWorld(database);
    world.fate = ({ what }) => (what === "start_run" ? "fails before" : "passes");
    await world.start(report, text("i")).catch(() => {});
    expect(await held()).toHaveLength(1);
    world.fate = () => "passes";
    await world.pass("61 minutes");
    await world.tick();
    expect([keys(), await held()]).toEqual([[], []]);
  });
});
