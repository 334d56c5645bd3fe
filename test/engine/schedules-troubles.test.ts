/** Schedules that do not fire since something is wrong with them or with the clocks: somebody is told. */
import { schedule } from "layover";
import { describe, expect, test } from "vitest";
import { troublesOf } from "../../src/client/schedule-text.ts";
import { testDatabase } from "../postgres/database.ts";
import { build, hourly, idsOf, report, schedulesOn } from "./hourly-reports.ts";
import type { World } from "./world.ts";

const database = testDatabase();
const worldWith = schedulesOn(database);

describe("a schedule that code declares", () => {
  test("is told and left out if its input does not fit, and the others fire", async () => {
    const misfit = hourly({ name: "misfit", input: { day: 3 as unknown as string } });
    const world = await worldWith([misfit, hourly()]);
    await world.pass("61 minutes");
    expect(await idsOf(world)).toEqual(["hourly@2026-01-01T13:00:00Z"]);
    expect(world.events).toContainEqual(
      expect.objectContaining({ kind: "schedule_refused", schedule: "misfit", reason: expect.stringContaining("day") }),
    );
  });

  test.each([
    ["its input does not fit", { input: { day: 3 as unknown as string } }],
    ["the database cannot read its pattern", { cron: "0 25 * * *" }],
  ])("fires as before if a new build declares it and %s", async (_, more) => {
    const world = await worldWith([hourly()]);
    await world.deploy(build("b", [hourly(more)]));
    await world.pass("61 minutes");
    expect(world.events).toContainEqual(expect.objectContaining({ kind: "schedule_refused", schedule: "hourly" }));
    expect(await idsOf(world)).toEqual(["hourly@2026-01-01T13:00:00Z"]);
  });

  test("is told if the database cannot read its pattern", async () => {
    const world = await worldWith([hourly({ cron: "0 25 * * *" })]);
    expect(world.events).toContainEqual(
      expect.objectContaining({
        kind: "schedule_refused",
        reason: 'the cron pattern "0 25 * * *" cannot be read: the hour 25 is out of range: write 0 to 23',
      }),
    );
  });

  test("for an instant that has passed is told by each build that declares it, until it fires; then it is over", async () => {
    const at = (name: string, instant: string, tags: Record<string, string> = {}) =>
      schedule({ name, at: new Date(instant), start: report, input: { day: name }, tags });
    const late = at("late", "2026-01-01T11:30:00Z");
    const world = await worldWith([late, at("soon", "2026-01-01T12:30:00Z")]);
    const told = () => world.events.filter(({ kind }) => kind === "schedule_stopped");
    const lateOnes = [{ schedule: "late", reason: expect.stringContaining("2026-01-01T11:30:00.000Z") }];
    const troubles = (name: string) => world.ask(async ({ schedules }) => troublesOf(await schedules.get(name)));
    expect(told()).toMatchObject(lateOnes);
    expect(await troubles("late")).toEqual(["never fires: its instant had passed before it was declared"]);
    expect(await troubles("soon")).toEqual([]);
    await world.pass("31 minutes");
    expect(await idsOf(world)).toEqual(["soon@2026-01-01T12:30:00Z"]);
    expect(await troubles("soon")).toEqual([]);
    await world.deploy(build("b", [late, at("soon", "2026-01-01T12:30:00Z")]));
    await world.deploy(build("c", [late, at("soon", "2026-01-01T12:30:00Z", { of: "c" })]));
    expect(told()).toMatchObject([...lateOnes, ...lateOnes, ...lateOnes]);
    await world.deploy(build("d", [at("late", "2026-01-01T13:00:00Z")]));
    await world.pass("31 minutes");
    expect(told()).toHaveLength(3);
    expect(await idsOf(world)).toEqual(["late@2026-01-01T13:00:00Z", "soon@2026-01-01T12:30:00Z"]);
  });
});

describe("a schedule whose timezone the database has lost", () => {
  const inZone = async (world: World, timezone: string) => {
    const zone = JSON.stringify({ timezone });
    await database.pool.query("update layover.schedule set definition = definition || $2 where namespace = $1", [
      world.namespace,
      zone,
    ]);
  };

  test("is told and shown, and fires again once its deployment starts on a database that has it", async () => {
    const schedules = [hourly({ timezone: "Europe/Berlin" })];
    const world = await worldWith(schedules);
    await inZone(world, "Europe/Atlantis");
    await world.pass("125 minutes");
    expect(await idsOf(world)).toEqual(["hourly@2026-01-01T13:00:00Z"]);
    expect(world.events.filter(({ kind }) => kind === "schedule_stopped")).toMatchObject([
      { schedule: "hourly", reason: expect.stringContaining('no timezone "Europe/Atlantis"') },
    ]);
    const { rows } = await database.pool.query("select layover.list_troubled_schedules($1) as all", [world.namespace]);
    expect(rows[0]?.all).toMatchObject([{ name: "hourly", stoppedBecause: expect.stringContaining("Atlantis") }]);
    await inZone(world, "Europe/Berlin");
    await world.deploy(build("a", schedules));
    await world.pass("56 minutes");
    expect(await idsOf(world)).toEqual(["hourly@2026-01-01T13:00:00Z", "hourly@2026-01-01T15:00:00Z"]);
  });
});

describe("the clocks of the host and of the database more than an hour apart", () => {
  test("fire nothing, and are told", async () => {
    const world = await worldWith([hourly()], { timeOfDay: () => Date.UTC(2026, 0, 1, 9) });
    await world.pass("65 minutes");
    expect(await idsOf(world)).toEqual([]);
    expect(world.events).toContainEqual(expect.objectContaining({ kind: "schedules_held", due: 1 }));
  });
});
