/** The judge of the campaign's schedules: it has nothing to say of the real SQL, and finds faults that are planted there. */
import { expect, test } from "vitest";
import { World } from "../engine/world.ts";
import { testDatabase } from "../postgres/database.ts";
import { planted } from "../simulation/schedules/planted.ts";
import { makeEffectsTable } from "./effects.ts";
import { logSchedules, readChanges, readStartedRuns } from "./schedule-log.ts";
import { type ScheduleEvidence, scheduleFaults } from "./schedule-verdict.ts";
import { chimeWorkflow, timetable } from "./timetable.ts";

const database = testDatabase({ isOwn: true });
const [leftOut = "", beside = ""] = timetable.map(({ name }) => name);
const trigger = { runId: "019b7a6d-0000-7000-8000-000000000001", ignoresOverlap: true };

/** Plays the schedules of the campaign for some minutes, and answers all that is judged. */
async function playTimetable(act: (world: World) => Promise<void> = pauseAndTrigger): Promise<ScheduleEvidence> {
  await makeEffectsTable(database.pool);
  await logSchedules(database.pool);
  // A world keeps the clock of its database by the object that it is given.
  const { url, pool, query } = database;
  const turnClock = () => database.turnClock();
  const world = await World.begin(
    { url, pool, query, turnClock },
    {
      workflows: [
        chimeWorkflow(
          async () => {},
          () => {},
        ),
      ],
      schedules: timetable,
      deployment: { name: "server", id: "a" },
    },
  );
  await act(world);
  return {
    changes: await readChanges(pool),
    runs: await readStartedRuns(pool),
    triggers: [{ ...trigger, isDone: true }],
    declared: timetable.map(({ name }) => name),
    now: world.now,
    setBack: undefined,
  };
}

async function pauseAndTrigger(world: World): Promise<void> {
  await world.tick();
  await world.pass("3 minutes");
  for (const name of [leftOut, beside]) await world.ask((client) => client.schedules.pause(name));
  await world.pass("4 minutes");
  for (const name of [leftOut, beside]) await world.ask((client) => client.schedules.resume(name));
  await world.pass("2 minutes");
  await world.ask((client) => client.schedules.trigger(beside, trigger));
  await world.pass("4 minutes");
}

const stepMs = 300_000;

/** Resumes the schedules by a process that does not know yet that the clock was set back. */
async function resumeAfterStep(world: World): Promise<number> {
  await world.tick();
  for (const name of [leftOut, beside]) await world.ask((client) => client.schedules.pause(name));
  await world.pass("90 seconds");
  await world.setClock(-stepMs);
  const at = world.now;
  for (const name of [leftOut, beside]) await world.ask((client) => client.schedules.resume(name));
  return at;
}

/** Does the same until the world itself finds that something is wrong. */
async function pauseAndTriggerFaulty(world: World): Promise<void> {
  await pauseAndTrigger(world).catch((error: unknown) =>
    expect(String(error)).toContain("the wake rule does not hold"),
  );
}

test("schedules that fired each instant once, or left it out as they say, have no fault", async () => {
  const evidence = await playTimetable();
  expect(scheduleFaults(evidence)).toEqual([]);
  expect(evidence.runs.length).toBeGreaterThan(40);
  const skips = evidence.changes.map(({ is }) => is?.cause);
  expect(skips).toContain("overlap");
  expect(skips).toContain("missed");
});

test("an alarm that was armed by the old time is no fault soon after the clock was set back, and is one later", async () => {
  let at = 0;
  const evidence = await playTimetable(async (world) => {
    at = await resumeAfterStep(world);
  });
  const faults = (setBack: ScheduleEvidence["setBack"]) =>
    scheduleFaults({ ...evidence, triggers: [], setBack }).filter((fault) => fault.includes("it is due at"));
  expect(faults({ at, byMs: stepMs })).toEqual([]);
  for (const setBack of [
    undefined,
    { at: at - 60_001, byMs: stepMs },
    { at: at + 1, byMs: stepMs },
    { at, byMs: 60_000 },
  ])
    expect(faults(setBack)).not.toEqual([]);
});

const found = [
  "a schedule does not move on when it is fired",
  "the id of a run does not name its instant",
  "a skip is counted twice",
  "a schedule that is resumed is not looked at",
  "a firing overlaps with the last run",
];

test.each(planted.filter(({ what }) => found.includes(what)))(
  "a planted fault is found: $what",
  async ({ definition, wrong }) => {
    await database.pool.query(`create or replace function layover.${definition}`);
    expect(scheduleFaults(await playTimetable(pauseAndTriggerFaulty)).join("\n")).toMatch(wrong);
  },
);

test("a fault is what nobody has asked for, what was told and is not so, and what is left to do", async () => {
  const { runs, ...evidence } = await playTimetable();
  const last = evidence.changes.at(-1);
  const faults = scheduleFaults({
    ...evidence,
    runs: runs.slice(1),
    triggers: [{ runId: "another", ignoresOverlap: false, isDone: true }],
    declared: [...evidence.declared, "forgotten"],
    now: (last?.now ?? 0) + 600_000,
  });
  for (const what of [
    /nobody has asked for that/,
    /the run another was started, and it was not/,
    /did not start/,
    /the schedule forgotten is not there/,
    /was to fire at/,
  ])
    expect(faults.join("\n")).toMatch(what);
});
