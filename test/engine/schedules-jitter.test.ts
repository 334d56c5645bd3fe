/** Schedules with a jitter, which puts their firings off. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { build, hourly, idsOf, runsOf, schedulesOn, seen } from "./hourly-reports.ts";

const database = testDatabase();
const worldWith = schedulesOn(database);

describe("jitter", () => {
  test("puts a firing off by whole minutes, always the same ones", async () => {
    const world = await worldWith([hourly({ jitter: "30 minutes" })]);
    await world.pass("2 hours");
    const minutes = (await runsOf(world)).map(({ id, created }) => [id, created.getMinutes()]);
    expect(minutes).toMatchInlineSnapshot(`
      [
        [
          "hourly@2026-01-01T13:00:00Z",
          20,
        ],
      ]
    `);
  });

  test("that is longer than the time between two firings puts none off to the next one", async () => {
    const world = await worldWith([hourly({ cron: "*/10 * * * *", jitter: "1 hour", catchUp: "none" })]);
    await world.pass("121 minutes");
    const runs = await runsOf(world);
    expect(runs.map(({ id }) => id.slice(-9, -4))).toEqual([
      "12:10",
      "12:20",
      "12:30",
      "12:40",
      "12:50",
      "13:00",
      "13:10",
      "13:20",
      "13:30",
      "13:40",
      "13:50",
    ]);
    expect(await seen(world)).toMatchObject({ skipped: 0 });
  });

  test("does not fire twice, and not never, if the schedule is edited between an instant and its firing", async () => {
    const world = await worldWith([hourly({ jitter: "50 minutes" })]);
    const { rows } = await database.pool.query<{ readonly fires_at: Date }>(
      "select fires_at from layover.schedule where namespace = $1",
      [world.namespace],
    );
    expect(rows[0]?.fires_at.getMinutes()).toBeGreaterThan(1);
    await world.pass("61 minutes");
    await world.deploy(build("b", [hourly({ jitter: "50 minutes", timezone: "Europe/Berlin" })]));
    await world.pass("58 minutes");
    expect(await idsOf(world)).toEqual(["hourly@2026-01-01T13:00:00Z"]);
  });
});
