/** The verbs of schedules, by the client. What they start, and when, is tested in test/engine/schedules*.test.ts. */
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { workflow } from "../../src/core/contract/contract.ts";
import { testDatabase } from "../postgres/database.ts";
import { namespace } from "./a-client.ts";
import { faces } from "./faces.ts";

const digest = workflow({ name: "digest", version: 2, input: z.object({ customer: z.string() }) });
const nap = workflow({ name: "nap", version: 1 });
const weekly = { cron: "0 8 * * 1", timezone: "Asia/Tokyo", input: { customer: "c1" } } as const;

describe.each(faces)("schedules, $face", ({ open }) => {
  const database = testDatabase({ perTest: true });
  const aClient = () => open(database.query, [digest, nap]);

  it("are made once, and changed only if that is asked for", async () => {
    const { schedules } = aClient().client;
    const made = await schedules.create("c1/digest", digest, weekly);
    expect(made).toMatchObject({
      outcome: "created",
      schedule: {
        name: "c1/digest",
        workflow: "digest",
        version: 2,
        definition: { cron: "0 8 * * 1", timezone: "Asia/Tokyo" },
        fired: 0,
        workflowIsPaused: false,
      },
    });
    const { nextAt } = made.schedule;
    expect(nextAt?.toISOString()).toMatch(/T23:00:00.000Z$/);
    expect(made.schedule.owner).toBeUndefined();
    expect(await schedules.create("c1/digest", digest, weekly)).toMatchObject({ outcome: "exists" });
    const other = { every: "2 hours", input: { customer: "c2" } } as const;
    await expect(schedules.create("c1/digest", digest, other)).rejects.toMatchObject({ code: "schedule_conflict" });
    expect(await schedules.create("c1/digest", digest, { ...other, replaces: true })).toMatchObject({
      outcome: "changed",
      schedule: { definition: { everyMs: 7_200_000 } },
    });
  });

  it("are refused where they make no sense", async () => {
    const { schedules } = aClient().client;
    const refusal = (options: object) =>
      schedules.create("s", nap, options as { cron: string }).then(
        () => undefined,
        (error: unknown) => error,
      );
    expect(await refusal({ cron: "0 0 31 2 *" })).toMatchObject({
      code: "invalid_schedule",
      message: expect.stringMatching(/(10|ten) years/),
    });
    expect(await refusal({ cron: "* * * * *", timezone: "Mars/Base" })).toMatchObject({ code: "invalid_schedule" });
    expect(await refusal({})).toMatchObject({ code: "invalid_schedule" });
    expect(await refusal({ cron: "* * * * *", every: "1h" })).toMatchObject({ code: "invalid_schedule" });
    expect(await refusal({ every: "30s" })).toMatchObject({ code: "invalid_schedule" });
    expect(await refusal({ every: "1h", jitter: "90s" })).toMatchObject({ code: "invalid_schedule" });
    expect(await refusal({ every: "1h", catchUp: "all" })).toMatchObject({ code: "invalid_schedule" });
    expect(await refusal({ at: new Date("2020-01-01T00:00:00Z") })).toMatchObject({
      code: "invalid_schedule",
      message: expect.stringContaining("its instant has passed"),
    });
    await expect(schedules.get("s")).rejects.toMatchObject({ code: "unknown_schedule" });
    const misfit = schedules.create("s", digest, { ...weekly, input: { customer: 3 as unknown as string } });
    await expect(misfit).rejects.toMatchObject({ code: "invalid_input" });
    await expect(schedules.create("x".repeat(101), nap, { every: "1h" })).rejects.toMatchObject({
      code: "invalid_name",
    });
    expect(await schedules.list()).toEqual({ schedules: [] });
  });

  it("are listed by name, a page at a time", async () => {
    const { schedules } = aClient().client;
    for (const name of ["c", "a", "b"]) await schedules.create(name, nap, { every: "1h" });
    await schedules.create("d", digest, weekly);
    const first = await schedules.list({ limit: 2 });
    expect(first.schedules.map(({ name }) => name)).toEqual(["a", "b"]);
    const second = await schedules.list({ limit: 2, cursor: first.cursor });
    expect(second.schedules.map(({ name }) => name)).toEqual(["c", "d"]);
    expect(second.cursor).toBeUndefined();
    expect((await schedules.list({ workflow: "digest" })).schedules).toMatchObject([{ name: "d" }]);
    await expect(schedules.list({ limit: 501 })).rejects.toMatchObject({ code: "invalid_request" });
  });

  it("are paused and resumed", async () => {
    const { schedules } = aClient().client;
    await schedules.create("a", nap, { every: "1h" });
    expect(await schedules.pause("a", { by: "ada", reason: "holidays" })).toMatchObject({
      paused: { by: "ada", reason: "holidays" },
    });
    expect((await schedules.get("a")).paused?.at).toBeInstanceOf(Date);
    expect((await schedules.resume("a")).paused).toBeUndefined();
    expect((await schedules.resume("a")).paused).toBeUndefined();
  });

  it("are triggered once by one id, and not while the last run goes on", async () => {
    const { client, dispatches } = aClient();
    await client.schedules.create("a", nap, { every: "1h" });
    const { runId } = await client.schedules.trigger("a");
    expect(dispatches.flatMap(({ turns }) => turns)).toEqual([{ runId, turn: 1 }]);
    expect(await client.schedules.trigger("a", { runId })).toEqual({ runId });
    await expect(client.schedules.trigger("a")).rejects.toMatchObject({ code: "schedule_overlap", details: { runId } });
    const beside = await client.schedules.trigger("a", { ignoresOverlap: true });
    expect((await client.list()).runs.map((run) => run.runId)).toEqual([beside.runId, runId]);
    expect(await client.schedules.get("a")).toMatchObject({ fired: 2, lastRunId: beside.runId });
  });

  it("say in the timeline of a run who triggered it, and why", async () => {
    const { client } = aClient();
    await client.schedules.create("a", nap, { every: "1h" });
    const { runId } = await client.schedules.trigger("a", { by: "ada", reason: "the report is late" });
    await client.schedules.trigger("a", { runId, by: "ada", reason: "the report is late" });
    expect((await client.history(runId)).operations).toMatchObject([
      { verb: "trigger", by: "ada", reason: "the report is late", verdict: "triggered", at: expect.any(Date) },
    ]);
  });

  it("are deleted, and their runs are not", async () => {
    const { client } = aClient();
    await client.schedules.create("a", nap, { every: "1h" });
    await client.schedules.trigger("a");
    await client.schedules.delete("a");
    await expect(client.schedules.get("a")).rejects.toMatchObject({ code: "unknown_schedule" });
    expect((await client.list()).runs).toHaveLength(1);
  });

  it("that nobody has made are unknown", async () => {
    const { schedules } = aClient().client;
    const unknown = { code: "unknown_schedule" };
    await expect(schedules.get("a")).rejects.toMatchObject(unknown);
    await expect(schedules.pause("a")).rejects.toMatchObject(unknown);
    await expect(schedules.resume("a")).rejects.toMatchObject(unknown);
    await expect(schedules.trigger("a")).rejects.toMatchObject(unknown);
    await expect(schedules.delete("a")).rejects.toMatchObject(unknown);
    await expect(schedules.adopt("a", { owner: "server" })).rejects.toMatchObject(unknown);
  });

  it("that code declares keep their definition, until the deployment is gone or another one is given them", async () => {
    const { schedules } = aClient().client;
    const declare = async (deploymentName: string, everyMs: number) => {
      const note = { namespace, deploymentName, deployment: "a", note: "deployed", versions: { nap: [1] } };
      const declared = { hourly: { workflow: "nap", version: 1, everyMs, encodedInput: "0null" } };
      await database.pool.query("select layover.note_deployment($1)", [
        JSON.stringify({ ...note, schedules: declared }),
      ]);
    };
    await declare("server", 3_600_000);
    await expect(schedules.create("hourly", nap, { every: "2h", replaces: true })).rejects.toMatchObject({
      code: "schedule_conflict",
      message: expect.stringContaining('"server"'),
    });
    await expect(schedules.delete("hourly")).rejects.toMatchObject({ code: "schedule_conflict" });
    await expect(schedules.adopt("hourly", { owner: "other" })).rejects.toMatchObject({ code: "not_applicable" });
    await declare("other", 7_200_000);
    expect(await schedules.get("hourly")).toMatchObject({
      owner: "server",
      rivalOwner: "other",
      definition: { everyMs: 3_600_000 },
    });
    const adopted = await schedules.adopt("hourly", { owner: "other" });
    expect(adopted).toMatchObject({
      owner: "other",
      definition: { everyMs: 7_200_000 },
      ownerIsLive: true,
      isCarried: true,
    });
    expect(adopted.rivalOwner).toBe("server"); // its code goes on declaring what it did
    expect(adopted.stoppedBecause).toBeUndefined();
  });
});
