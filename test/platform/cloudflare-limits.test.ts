/** A Worker's time: a delivery of the queue ends after 15 minutes, with whatever is at work. */
import { workflow } from "layover";
import { expect, test } from "vitest";
import type { TurnRef } from "../../src/core/ports.ts";
import { pause } from "../../src/core/waits.ts";
import { workerd } from "../../src/platform/cloudflare/runtime.ts";
import { workerOf } from "../../src/platform/cloudflare/serve.ts";
import { servedWorker } from "../../src/platform/cloudflare/served-worker.ts";
import { PlayedCloudflare } from "../idle/played-cloudflare.ts";
import { beginning, PlayedTime } from "../idle/played-time.ts";
import { testDatabase } from "../postgres/database.ts";
import { secret } from "./a-worker.ts";
import { consumers } from "./consumers.ts";

const database = testDatabase({ isOwn: true });
const minuteMs = 60_000;

const begun: string[] = [];
const film = workflow({ name: "film", version: 1 }).handler(async ({ step }) => {
  await step.run("cut", () => void begun.push("cut"), { timeout: "14 minutes" });
  await step.run("render", () => void begun.push("render"), { timeout: "20 minutes" });
});

test("a step that may take longer than a delivery fails before it begins, and a shorter one is carried out", async () => {
  const clock = await database.turnClock();
  await clock.set(beginning);
  const played = new PlayedCloudflare({ workflows: [film], query: database.query, clock });
  await database.query("select layover.start_run($1)", [JSON.stringify({ workflow: "film", version: 1 })]);
  await played.passUntil(beginning + 5 * minuteMs);
  expect(begun).toEqual(["cut"]);
  const [run] = await database.query("select status, error from layover.run_state");
  expect(run).toMatchObject({ status: "failed", error: expect.stringContaining("exceeds_host") });
  expect(String(run?.["error"])).toContain("may take 1200 s, and an invocation here has 880 s");
  expect(played.errors).toEqual([]);
});

test("turns that may have ended their isolate are sent anew where another one of them has taken the time", async () => {
  const clock = await database.turnClock();
  await clock.set(beginning);
  const time = new PlayedTime({ query: database.query, clock, onStatement: () => {} });
  const scenes: string[] = [];
  const shoot = workflow({ name: "shoot", version: 1 }).handler(async ({ step, run }) => {
    const body = async () => {
      scenes.push(run.runId);
      await pause(time.host, 10 * minuteMs);
    };
    await step.run("scene", body, { timeout: "14 minutes" });
  });
  const sent: TurnRef[] = [];
  const served = servedWorker(
    {
      workflows: [shoot],
      database: () => time.query,
      publicUrl: () => "https://example.com",
      secrets: () => [secret],
      queue: () => ({
        sendBatch: async (messages: Iterable<{ readonly body: TurnRef }>) =>
          void sent.push(...[...messages].map(({ body }) => body)),
      }),
    },
    { ...workerd, host: time.host, engine: { ...workerd.engine, atRest: () => pause(time.host, 0) } },
  );
  const rows = await database.query("select layover.start_run($1) as answer from generate_series(1, 2)", [
    JSON.stringify({ workflow: "shoot", version: 1 }),
  ]);
  const turns = rows.map(({ answer }) => ({
    runId: String(Reflect.get(Object(answer), "runId")),
    turn: 1,
    alone: true,
  }));
  const messages = turns.map((body) => ({ body, attempts: 1, ack: () => {}, retry: () => {} }));
  const delivered = workerOf(served).queue({ queue: consumers.turns.queue, messages }, {});
  await time.passUntil(beginning + 20 * minuteMs);
  const [first, second] = turns.map(({ runId }) => runId);
  expect(scenes).toEqual([first]);
  await delivered;
  expect(sent).toEqual([{ runId: second, turn: 1, alone: true, tried: 0 }]);
});
