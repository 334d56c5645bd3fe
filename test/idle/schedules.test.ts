/** Schedules on a Worker whose host plays its own time: what counts is the clock of the host, not this machine's. */
import { schedule, workflow } from "layover";
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { isWhole } from "../size.ts";
import { PlayedCloudflare } from "./played-cloudflare.ts";
import { beginning } from "./played-time.ts";

const database = testDatabase({ isOwn: true });
/** More than a page of them. */
const many = isWhole ? 10_000 : 600;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

const hello = workflow({ name: "hello", version: 1 });
const hourly = schedule({ name: "hourly", every: "1 hour", startAt: new Date(0), start: hello });

test("a schedule fires each hour of the time that its host and the database show", async () => {
  const clock = await database.turnClock();
  const errors: unknown[] = [];
  const played = new PlayedCloudflare({
    workflows: [hello.handler(async ({ step }) => step.run("say", () => "hello"))],
    schedules: [hourly],
    query: database.query,
    clock,
    onError: (error) => errors.push(error),
  });
  const beganAt = Math.floor(played.now() / hourMs) * hourMs;
  await clock.set(played.now());
  await played.passUntil(beganAt + 4.5 * hourMs);
  const { rows } = await database.pool.query(
    "select r.user_id as id, s.status from layover.run r join layover.run_state s on s.run_id = r.id order by r.user_id",
  );
  const firings = [1, 2, 3, 4].map((hours) => new Date(beganAt + hours * hourMs).toISOString().replace(".000", ""));
  expect(rows).toEqual(firings.map((at) => ({ id: `hourly@${at}`, status: "completed" })));
  expect([...errors, ...played.errors]).toEqual([]);
});

test(`${many} schedules send no statement in an hour between their firings, and all fire within two minutes of theirs`, {
  timeout: 900_000,
}, async () => {
  const clock = await database.turnClock();
  const firesAt = Math.ceil(beginning / hourMs + 2) * hourMs;
  const errors: unknown[] = [];
  const lateMs: number[] = [];
  const played: PlayedCloudflare = new PlayedCloudflare({
    workflows: [hello.handler(async ({ step }) => step.run("say", () => void lateMs.push(played.now() - firesAt)))],
    schedules: Array.from({ length: many }, (_, index) =>
      schedule({ name: `s${index}`, every: "1 day", startAt: new Date(firesAt), start: hello }),
    ),
    query: database.query,
    clock,
    onError: (error) => errors.push(error),
  });
  await clock.set(played.now());
  await played.passUntil(firesAt - 70 * minuteMs);
  played.takeTally();

  await played.passUntil(firesAt - 10 * minuteMs);
  expect(played.takeTally().statements).toEqual([]);

  await played.passUntil(firesAt + 10 * minuteMs);
  const { rows } = await database.pool.query("select status, count(*)::integer from layover.run_state group by status");
  expect(rows).toEqual([{ status: "completed", count: many }]);
  expect(lateMs).toHaveLength(many);
  expect(Math.max(...lateMs)).toBeLessThanOrEqual(2 * minuteMs);
  expect([...errors, ...played.errors]).toEqual([]);
});
