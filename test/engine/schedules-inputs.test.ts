/** Inputs that the function of a schedule makes: they fail their run, or are kept for it. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { acceptRecords, refuseRecords } from "../postgres/refusals.ts";
import { build, hourly, runsOf, schedulesOn } from "./hourly-reports.ts";

const database = testDatabase();
const worldWith = schedulesOn(database);

describe("a schedule that code declares", () => {
  test.each([
    ["throws", new Error("no day today")],
    ["cannot be stored", { day: "today".repeat(1_000_000) }],
    ["does not fit", { day: 3 as unknown as string }],
  ])("fails a run whose input %s, and goes on", async (_, made) => {
    const input = (): { day: string } => {
      if (made instanceof Error) throw made;
      return made;
    };
    const world = await worldWith([hourly({ input })]);
    await world.pass("121 minutes");
    expect((await runsOf(world)).map(({ status }) => status)).toEqual(["failed", "failed"]);
    const [run] = (await world.ask((client) => client.list({ workflow: "report" }))).runs;
    expect(await world.get(run?.runId ?? "")).toMatchObject({ error: { code: "invalid_input" } });
  });

  describe("whose function has made a run's input", () => {
    const slow = hourly({ input: ({ scheduledAt }) => ({ day: `slow ${scheduledAt.toISOString()}` }) });
    const made = "slow 2026-01-01T13:00:00.000Z";

    test.each([
      ["is declared no more", []],
      ["makes another one now", [hourly({ input: () => ({ day: "another" }) })]],
    ])("keeps it for that run if it %s", async (_, schedules) => {
      const world = await worldWith([slow]);
      await world.pass("61 minutes");
      const [run] = (await world.ask((client) => client.list({ workflow: "report" }))).runs;
      expect(await world.get(run?.runId ?? "")).toMatchObject({ status: "sleeping", input: { day: made } });
      await world.deploy(build("b", schedules));
      await world.pass("100 minutes");
      expect(await world.get(run?.runId ?? "")).toMatchObject({ status: "completed", result: made });
      expect(world.errors).toEqual([]);
    });

    test("keeps it, though the database refuses what the run's first turn has recorded", async () => {
      let times = 0;
      const world = await worldWith([hourly({ input: () => ({ day: `made ${++times}` }) })]);
      await refuseRecords(database.pool, "22P05", "new.path = 'write' and not new.is_failure");
      try {
        await world.pass("61 minutes");
      } finally {
        await acceptRecords(database.pool);
      }
      const [run] = (await world.ask((client) => client.list({ workflow: "report" }))).runs;
      expect(await world.get(run?.runId ?? "")).toMatchObject({ status: "failed", input: { day: "made 1" } });
      expect(times).toBe(1);
    });

    test("keeps it for the next epoch of that run", async () => {
      const world = await worldWith([slow]);
      await world.pass("61 minutes");
      const [run] = (await world.ask((client) => client.list({ workflow: "report" }))).runs;
      const runId = run?.runId ?? "";
      await world.deploy(build("b", []));
      await world.pass("100 minutes");
      await world.ask((client) => client.restart(runId));
      await world.pass("100 minutes");
      expect(await world.get(runId)).toMatchObject({ status: "completed", epoch: 1, result: made });
    });
  });
});
