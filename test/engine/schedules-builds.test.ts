/** Builds that declare a schedule: which of them says when it fires, and which deployment owns it. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { build, hourly, idsOf, schedulesOn, seen, verb } from "./hourly-reports.ts";
import { World } from "./world.ts";

const database = testDatabase();
const worldWith = schedulesOn(database);
const noted = { deploymentName: "server" } as const;

describe("a schedule that code declares", () => {
  test("is gone when the next build does not declare it any more", async () => {
    const world = await worldWith([hourly()]);
    await world.pass("61 minutes");
    await world.deploy(build("b", []));
    await world.pass("3 hours");
    expect(await seen(world)).toBeUndefined();
    expect(await idsOf(world)).toHaveLength(1);
  });

  test("fires on by its new calendar after a deploy, and by the old one after a rollback", async () => {
    const world = await worldWith([hourly()]);
    await world.pass("70 minutes");
    await world.deploy(build("b", [hourly({ cron: "30 * * * *" })]));
    await world.pass("1 hour");
    await verb(world, "note_deployment", { ...noted, deployment: "a", note: "deployed", versions: { report: [1] } });
    await world.deploy(build("a", [hourly()]));
    await world.pass("1 hour");
    expect(await idsOf(world)).toEqual([
      "hourly@2026-01-01T13:00:00Z",
      "hourly@2026-01-01T13:30:00Z",
      "hourly@2026-01-01T15:00:00Z",
    ]);
  });

  describe("and a newer build declares anew", () => {
    const newer = async () => {
      const world = await worldWith([hourly()]);
      await world.pass("3 minutes");
      await world.deploy(build("b", [hourly({ cron: "30 * * * *" })]));
      await world.pass("3 minutes");
      await world.deploy(build("a", [hourly()])); // its supervisor has begun a process of it again
      return world;
    };

    test("stays as the newer one says when a process of the older one begins again", async () => {
      const world = await newer();
      await world.pass("121 minutes");
      expect(await idsOf(world)).toEqual(["hourly@2026-01-01T12:30:00Z", "hourly@2026-01-01T13:30:00Z"]);
    });

    test("is as the older one says once the newer one has left", async () => {
      const world = await newer();
      await verb(world, "note_deployment", { ...noted, deployment: "b", note: "left" });
      await world.tick();
      await world.pass("121 minutes");
      expect(await idsOf(world)).toEqual(["hourly@2026-01-01T13:00:00Z", "hourly@2026-01-01T14:00:00Z"]);
    });

    test("is as the older one says once nobody has seen the newer one for two hours", async () => {
      const world = await newer();
      await world.pass("200 minutes");
      expect((await idsOf(world)).at(-1)).toBe("hourly@2026-01-01T15:00:00Z");
    });
  });

  test("is registered by a build that `layover deployed` has noted before its first tick", async () => {
    const world = await World.begin(database, build("a", [hourly()]));
    await verb(world, "note_deployment", {
      deploymentName: "server",
      deployment: "a",
      note: "deployed",
      versions: { report: [1] },
    });
    await world.tick();
    await world.pass("61 minutes");
    expect(await idsOf(world)).toHaveLength(1);
  });

  test("belongs to one deployment: another one that declares something else is refused, until it is adopted", async () => {
    const world = await worldWith([hourly()]);
    await world.deploy(build("x", [hourly({ cron: "30 * * * *" })], "other"));
    expect(world.events).toContainEqual(
      expect.objectContaining({
        kind: "schedule_refused",
        schedule: "hourly",
        reason: expect.stringContaining('"server"'),
      }),
    );
    await world.pass("61 minutes");
    expect(await idsOf(world)).toEqual(["hourly@2026-01-01T13:00:00Z"]);
    expect(await verb(world, "adopt_schedule", { name: "hourly", owner: "nobody" })).toMatchObject({
      outcome: "not_applicable",
    });
    expect(await verb(world, "adopt_schedule", { name: "hourly", owner: "other" })).toMatchObject({
      outcome: "adopted",
    });
    await world.tick();
    await world.pass("30 minutes");
    expect(await idsOf(world)).toEqual(["hourly@2026-01-01T13:00:00Z", "hourly@2026-01-01T13:30:00Z"]);
  });

  test("stays as it is when another deployment declares the same", async () => {
    const world = await worldWith([hourly()]);
    await world.deploy(build("x", [hourly()], "other"));
    await world.pass("61 minutes");
    expect(world.events.filter(({ kind }) => kind === "schedule_refused")).toEqual([]);
    expect(await idsOf(world)).toHaveLength(1);
  });
});
