/** Schedules on the whole engine: what they start, and when; what they leave out; who declares them. */
import { type Schedule, schedule, workflow } from "layover";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { troublesOf } from "../../src/client/schedule-text.ts";
import { testDatabase } from "../postgres/database.ts";
import { acceptRecords, refuseRecords } from "../postgres/refusals.ts";
import { World } from "./world.ts";
import type { WorldOptions } from "./world-options.ts";

const database = testDatabase();

const report = workflow({ name: "report", version: 1, input: z.object({ day: z.string() }), output: z.string() });
/** Each run sleeps as long as its input's first letter says, and answers its day. */
const reports = report.handler(async ({ input, step }) => {
  if (input.day.startsWith("slow")) await step.sleep("slow", "90 minutes");
  return await step.run("write", () => input.day);
});

const hourly = (more: Partial<Parameters<typeof schedule<typeof report>>[0]> = {}) =>
  schedule({
    name: "hourly",
    cron: "0 * * * *",
    start: report,
    input: ({ scheduledAt }) => ({ day: scheduledAt.toISOString() }),
    ...more,
  } as Parameters<typeof schedule<typeof report>>[0]);

const build = (id: string, schedules: readonly Schedule[], name = "server") =>
  ({ workflows: [reports], schedules, deployment: { name, id } }) as const;

const noted = { deploymentName: "server" } as const;

async function worldWith(schedules: readonly Schedule[], options: Partial<WorldOptions> = {}): Promise<World> {
  const world = await World.begin(database, { ...build("a", schedules), ...options });
  await world.tick();
  return world;
}

interface Row {
  readonly id: string;
  readonly status: string;
  readonly created: Date;
}

async function runsOf(world: World): Promise<readonly Row[]> {
  const { rows } = await database.pool.query<Row>(
    `select r.user_id as id, s.status, r.created_at as created from layover.run r join layover.run_state s on s.run_id = r.id
      where r.namespace = $1 order by r.user_id`,
    [world.namespace],
  );
  return rows;
}

const idsOf = async (world: World) => (await runsOf(world)).map(({ id }) => id);

interface Seen {
  readonly fired: number;
  readonly skipped: number;
  readonly last_skip: { readonly cause: string } | null;
  readonly due_at: Date | null;
  readonly next_at: Date | null;
}

async function seen(world: World, name = "hourly"): Promise<Seen | undefined> {
  const { rows } = await database.pool.query<Seen>(
    `select v.fired::integer, v.skipped::integer, v.last_skip, v.due_at, v.next_at
       from layover.schedule v where v.namespace = $1 and v.name = $2`,
    [world.namespace, name],
  );
  return rows[0];
}

async function verb(world: World, name: string, call: object): Promise<Record<string, unknown>> {
  const { rows } = await database.pool.query<{ readonly answer: Record<string, unknown> }>(
    `select layover.${name}($1) as answer`,
    [JSON.stringify({ namespace: world.namespace, ...call })],
  );
  return rows[0]?.answer ?? {};
}

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

describe("the clocks of the host and of the database more than an hour apart", () => {
  test("fire nothing, and are told", async () => {
    const world = await worldWith([hourly()], { timeOfDay: () => Date.UTC(2026, 0, 1, 9) });
    await world.pass("65 minutes");
    expect(await idsOf(world)).toEqual([]);
    expect(world.events).toContainEqual(expect.objectContaining({ kind: "schedules_held", due: 1 }));
  });
});
