/** A body that is at work when its run's timeout is put off by a pause: it goes on. */
import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import type { TestedStep } from "./playing.ts";
import { World } from "./world.ts";
import type { Fate } from "./world-options.ts";

const database = testDatabase();
const timed = workflow({ name: "timed", version: 1, timeout: "1 hour" });
const minute = 60_000;

type Body = Parameters<TestedStep["run"]>[1];
type Place = (step: Pick<TestedStep, "run">, body: Body) => Promise<unknown>;

const options = { timeout: "40 minutes", retry: { maxAttempts: 1 } } as const;
const places: Readonly<Record<string, Place>> = {
  alone: (step, body) => step.run("it", body, options),
  "at most once": (step, body) => step.run("it", body, { ...options, semantics: "at-most-once" }),
  "beside another": async (step, body) =>
    (await Promise.all([step.run("it", body, options), step.run("other", () => 0)]))[0],
};

/** Plays a run of an hour until its minute 52. Its step begins at minute 50. */
async function begun(place: Place, takes: "30 minutes" | undefined) {
  const told = { bodies: 0, aborted: [] as unknown[] };
  const handle = timed.handler(async ({ step }) => {
    await step.sleep("nap", "50 minutes");
    return await place(step, async ({ abortSignal }) => {
      told.bodies += 1;
      abortSignal.addEventListener("abort", () => told.aborted.push([world.time / minute, abortSignal.reason.code]));
      await world.foreign(takes);
      return "done";
    });
  });
  const world: World = await World.begin(database, { workflows: [handle] });
  const run = await world.start(timed);
  await world.pass("52 minutes");
  expect(told.bodies).toBe(1);
  return { world, run, told };
}

describe.each(Object.entries(places))("a body %s", (_, place) => {
  test.each(["5 minutes", "1 hour"] as const)("goes on where its run is paused for %s", async (duration) => {
    const { world, run, told } = await begun(place, "30 minutes");
    await world.ask((client) => client.pause(run.runId));
    await world.pass(duration);
    await world.ask((client) => client.resume(run.runId));
    const isLong = duration === "1 hour";
    const view = await world.run(run);
    expect(told).toEqual({ bodies: 1, aborted: isLong ? [] : [[65, "run_timeout"]] });
    if (isLong) expect(view).toMatchObject({ status: "completed", result: "done" });
    else expect(view).toMatchObject({ status: "failed", error: { code: "run_timeout" } });
  });
});

test.each(["fails before", "is never answered"] as const)(
  "a body ends at its run's timeout where nobody tells whether it was put off: the call %s",
  async (fate) => {
    const { world, run, told } = await begun((step, body) => step.run("it", body, options), undefined);
    world.fate = ({ what }): Fate => (what === "renew_leases" && world.time >= 60 * minute ? fate : "passes");
    await world.pass("8 minutes");
    await world.pass("11s");
    expect(told.aborted).toEqual([[expect.closeTo(60, 0), "run_timeout"]]);
    await world.pass("60s");
    world.fate = () => "passes";
    expect(await world.run(run)).toMatchObject({ status: "failed", error: { code: "run_timeout" } });
    expect(told.bodies).toBe(1);
  },
);
