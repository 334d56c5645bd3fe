import { stripVTControlCharacters } from "node:util";
import { workflow } from "layover";
import { expect, test } from "vitest";
import * as z from "zod";
import { timeline } from "../../src/cli/runs/timeline.ts";
import { cancelled } from "../engine/cancelling.ts";
import { play, type TestedHandler, tested, worldOf } from "../engine/playing.ts";
import { World } from "../engine/world.ts";
import { testDatabase } from "../postgres/database.ts";

const database = testDatabase();

async function shown(handle: TestedHandler, sql?: string): Promise<string> {
  const { world, run } = await play(database, handle);
  if (sql !== undefined) await database.pool.query(sql, [run.runId]);
  const view = await world.get(run.runId);
  const lines = timeline(view, await world.history(run), { now: new Date(world.now), width: 200 });
  return stripVTControlCharacters(lines);
}

test("a wait that nothing came for has timed out, and a name is closed", async () => {
  const lines = await shown(async ({ step }) => {
    await step.waitForSignal("go", { timeout: "1 minute", onTimeout: "null" });
    await step.close("go");
  });
  expect(lines).toMatch(/ {2}– {2}signal go +timed out\n.* ✓ {2}close go\S* +closed: no more is taken$/);
});

test("a lap that has not begun tells when and why it begins later", async () => {
  const laps = workflow({ name: "laps", version: 1, input: z.number() });
  const handle = laps.handler(async ({ input, step }) => void (input < 9 && (await step.continueAsNew(input + 1))));
  const world = await World.begin(database, { workflows: [handle] });
  const run = await world.start(laps, 1);
  await world.pass("10 seconds");
  const lines = timeline(await world.get(run.runId), await world.history(run), {
    now: new Date(world.now),
    width: 200,
  });
  expect(stripVTControlCharacters(lines)).toMatch(
    / – {2}epoch 3 +continued as new\n.* – {2}epoch 4 +continued as new\. It begins in \d+ s \(.*\), since its laps wait for nothing$/,
  );
});

test("a run that was cancelled tells who asked, why, and what cleaned up", async () => {
  const { world, run } = await cancelled(database, async ({ step }) => {
    try {
      await step.sleep("nap", "1 day");
    } finally {
      await step.cleanup("release", ({ step }) => step.run("unlock", () => 1));
    }
  });
  const view = await world.run(run);
  const terms = { now: new Date(world.now), width: 200 };
  const lines = stripVTControlCharacters(timeline(view, await world.history(run), terms));
  expect(lines).toMatch(
    / ● {2}cancel +ordered twice\n.* – {2}closing +CancelledError: the run was cancelled: ordered twice\n.* ✓ {2}step release\/unlock .*1$/,
  );
});

test("a run that failed tells how it ends, what was undone, and what was not", async () => {
  const lines = await shown(async ({ step }) => {
    await step.run("hotel", () => "h1", { compensate: () => "free" });
    await step.run("flight", () => "f1", {
      compensate: { run: () => Promise.reject(new Error("closed")), retry: { maxAttempts: 2, delay: "1 minute" } },
    });
    throw new Error("no car");
  });
  expect(lines.replaceAll(/^\S+ +/gm, "").replaceAll(/ {2,}/g, " ")).toBe(
    [
      `✓ step hotel 0 ms "h1"`,
      `✓ step flight 0 ms "f1"`,
      "– ending as failed, after 2 undos: Error: no car",
      "✗ attempt 1 of the undo of flight 0 ms Error: closed",
      "✗ attempt 2 of the undo of flight 0 ms Error: closed",
      "✗ undo flight 0 ms failed for good, after 2 attempts: Error: closed",
      `✓ undo hotel 0 ms "free"`,
    ].join("\n"),
  );
});

test("a run that is being undone tells of the undo that is tried again", async () => {
  const world = await worldOf(database, async ({ step }) => {
    await step.run("flight", () => "f1", { compensate: () => Promise.reject(new Error("busy")) });
    throw new Error("no car");
  });
  const run = await world.start(tested);
  await world.pass("30 minutes");
  const terms = { now: new Date(world.now), width: 200 };
  const lines = timeline(await world.get(run.runId), await world.history(run), terms);
  expect(stripVTControlCharacters(lines)).toMatch(/ … {2}undo flight +is tried again .*, 1\d attempts failed$/);
});

test("an attempt that nobody knows the end of is no failure", async () => {
  const error = '0{"name": "Error", "code": "interrupted", "message": "it was begun, and never told how it ended"}';
  const lines = await shown(
    async ({ step }) => {
      await step.waitForSignal("go");
    },
    `insert into layover.attempt (run_id, epoch, path, occurrence, number, began_at, ended_at, error)
      values ($1, 0, 'charge', 1, 1, layover.now(), layover.now(), '${error}')`,
  );
  expect(lines).toMatch(/– {2}attempt 1 of charge +interrupted: it was begun, and never told how it ended\n/);
});

test("a turn under way tells that earlier ones died over it", async () => {
  const sql = `update layover.run_state set lost = 2, status = 'running', token = gen_random_uuid(), due_at = null,
    leased_until = layover.now() + interval '1 minute' where run_id = $1`;
  const lines = await shown(async ({ step }) => {
    await step.waitForSignal("go");
  }, sql);
  expect(lines).toMatch(/▶ {2}turn \d+ +under way; .*, 2 earlier tries ended without a result: the process died$/);
});
