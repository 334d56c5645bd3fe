/** Firings that are left out, since the last run is not over, or are missed and made up for. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { hourly, idsOf, schedulesOn, seen, verb } from "./hourly-reports.ts";

const database = testDatabase();
const worldWith = schedulesOn(database);

describe("a firing while the last run is not over", () => {
  const slow = { input: { day: "slow" } };

  test("is left out, and counted", async () => {
    const world = await worldWith([hourly(slow)]);
    await world.pass("241 minutes");
    expect(await idsOf(world)).toEqual(["hourly@2026-01-01T13:00:00Z", "hourly@2026-01-01T15:00:00Z"]);
    expect(await seen(world)).toMatchObject({ fired: 2, skipped: 2, last_skip: { cause: "overlap" } });
  });

  test("is told each time, with how many there were in a row", async () => {
    const world = await worldWith([hourly({ ...slow, cron: "*/20 * * * *" })]);
    await world.pass("81 minutes");
    const skips = world.events.filter(({ kind }) => kind === "schedule_skipped");
    expect(skips).toMatchObject([{ inRow: 1 }, { inRow: 2 }, { inRow: 3, cause: "overlap" }]);
  });

  test("starts another run where the schedule allows it", async () => {
    const world = await worldWith([hourly({ ...slow, overlap: "allow" })]);
    await world.pass("181 minutes");
    expect(await idsOf(world)).toHaveLength(3);
  });
});

describe("firings that were missed", () => {
  const missed = async (more: Parameters<typeof hourly>[0]) => {
    const world = await worldWith([hourly(more)]);
    await verb(world, "pause_schedule", { name: "hourly", by: "ada" });
    await world.pass("310 minutes");
    expect(await idsOf(world)).toEqual([]);
    await verb(world, "resume_schedule", { name: "hourly" });
    await world.tick();
    await world.pass("2 minutes");
    return world;
  };

  test("are made up for by the last one", async () => {
    const world = await missed({});
    expect(await idsOf(world)).toEqual(["hourly@2026-01-01T17:00:00Z"]);
    expect(await seen(world)).toMatchObject({ fired: 1, skipped: 1, last_skip: { cause: "missed" } });
  });

  test("are all made up for where the schedule says so", async () => {
    const world = await missed({ overlap: "allow", catchUp: "all" });
    expect(await idsOf(world)).toHaveLength(5);
  });

  test("are made up for up to 100, the first ones", async () => {
    const world = await missed({ cron: "* * * * *", overlap: "allow", catchUp: "all" });
    const ids = await idsOf(world);
    expect(ids.slice(0, 100).at(-1)).toBe("hourly@2026-01-01T13:40:00Z");
    expect(ids.slice(100).every((id) => id >= "hourly@2026-01-01T17:09")).toBe(true);
  });

  test("are lost where the schedule says so", async () => {
    const world = await missed({ catchUp: "none" });
    expect(await idsOf(world)).toEqual([]);
    await world.pass("1 hour");
    expect(await idsOf(world)).toEqual(["hourly@2026-01-01T18:00:00Z"]);
  });

  test("take no longer if they were a year of minutes", async () => {
    const world = await worldWith([hourly({ cron: "* * * * *" })]);
    await verb(world, "pause_schedule", { name: "hourly" });
    await world.pass("360 days");
    await verb(world, "resume_schedule", { name: "hourly" });
    await world.tick();
    await world.settle();
    expect(await idsOf(world)).toHaveLength(1);
  });
});
