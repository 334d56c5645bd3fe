/** Schedules on the whole engine: when they fire, and which runs they start. */
import { schedule, workflow } from "layover";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { build, hourly, idsOf, reports, runsOf, schedulesOn, seen } from "./hourly-reports.ts";

const database = testDatabase();
const worldWith = schedulesOn(database);

describe("a schedule that code declares", () => {
  test("starts a run at each of its instants, with the input that its function makes", async () => {
    const world = await worldWith([hourly()]);
    await world.pass("181 minutes");
    const runs = await runsOf(world);
    expect(runs.map(({ id }) => id)).toEqual([
      "hourly@2026-01-01T13:00:00Z",
      "hourly@2026-01-01T14:00:00Z",
      "hourly@2026-01-01T15:00:00Z",
    ]);
    expect(runs.every(({ status, created }) => status === "completed" && created.getMinutes() === 0)).toBe(true);
    const [first] = (await world.ask((client) => client.list({ workflow: "report" }))).runs;
    expect(await world.get(first?.runId ?? "")).toMatchObject({ result: "2026-01-01T15:00:00.000Z" });
    expect(world.errors).toEqual([]);
  });

  test("sends nothing to the database between its firings", async () => {
    const world = await worldWith([hourly()]);
    await world.pass("62 minutes");
    const before = world.statements();
    await world.pass("56 minutes");
    expect(world.statements() - before).toBe(0);
  });

  test("passes an input that is data, and tags", async () => {
    const world = await worldWith([hourly({ input: { day: "today" }, tags: { kind: "nightly" } })]);
    await world.pass("61 minutes");
    const page = await world.ask((client) => client.list({ tags: { kind: "nightly" } }));
    expect(page.runs).toMatchObject([{ status: "completed", id: "hourly@2026-01-01T13:00:00Z" }]);
  });
});

describe("a schedule whose workflow is paused", () => {
  test("does not fire, is not looked at, and makes up for it at the resume", async () => {
    const world = await worldWith([hourly()]);
    await world.ask((client) => client.pauseWorkflow("report", { reason: "broken" }));
    await world.pass("130 minutes");
    expect(await idsOf(world)).toEqual([]);
    expect(await seen(world)).toMatchObject({ due_at: null });
    await world.ask((client) => client.resumeWorkflow("report"));
    await world.pass("2 minutes");
    expect(await runsOf(world)).toMatchObject([{ id: "hourly@2026-01-01T14:00:00Z", status: "completed" }]);
  });
});

describe("a schedule whose build names another workflow", () => {
  test("fires that one, though the workflow before it is paused", async () => {
    const other = workflow({ name: "other", version: 1, output: z.string() });
    const workflows = [reports, other.handler(async () => "done")];
    const world = await worldWith([hourly()], { workflows });
    await world.ask((client) => client.pauseWorkflow("report"));
    await world.pass("61 minutes");
    await world.deploy({ ...build("b", [schedule({ name: "hourly", cron: "0 * * * *", start: other })]), workflows });
    await world.pass("2 minutes");
    expect(await idsOf(world)).toEqual(["hourly@2026-01-01T13:00:00Z"]);
  });
});

describe("a schedule that does not fire at whole minutes", () => {
  test("fires at its second, though the look before it comes less than a minute ahead", async () => {
    const every = { cron: undefined, every: "5 minutes", startAt: new Date(Date.UTC(2026, 0, 1, 12, 5, 30)) };
    const world = await worldWith([hourly(every as Parameters<typeof hourly>[0])]);
    await world.pass("21 minutes");
    expect((await runsOf(world)).map(({ created }) => created.toISOString().slice(11, 19))).toEqual([
      "12:05:30",
      "12:10:30",
      "12:15:30",
      "12:20:30",
    ]);
  });
});
