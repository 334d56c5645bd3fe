import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { timeline } from "../../src/cli/runs/timeline.ts";
import { cancelled } from "../engine/cancelling.ts";
import { play, type TestedHandler } from "../engine/playing.ts";
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

test("a turn under way tells that earlier ones died over it", async () => {
  const sql = `update layover.run_state set lost = 2, status = 'running', token = gen_random_uuid(), due_at = null,
    leased_until = layover.now() + interval '1 minute' where run_id = $1`;
  const lines = await shown(async ({ step }) => {
    await step.waitForSignal("go");
  }, sql);
  expect(lines).toMatch(/▶ {2}turn \d+ +under way; .*, 2 earlier tries ended without a result: the process died$/);
});
