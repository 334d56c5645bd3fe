/** Runs that end after the handler of their parent has: each end is recorded before the undos begin, and its undo is told it. */
import { type Duration, NonRetryableError } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { cancel, recordsOf } from "./cancelling.ts";
import { child, familiesOn } from "./families.ts";
import { type TestedStep, tested } from "./playing.ts";
import type { World } from "./world.ts";

const database = testDatabase();
const family = familiesOn(database);
const no = () => Promise.reject(new NonRetryableError("no"));

/** Makes an undo that notes what it is told. */
function noting() {
  const told: unknown[] = [];
  const compensate = (result: unknown, { outcome }: { readonly outcome: string }) => void told.push([result, outcome]);
  return { told, compensate };
}
const booked = [["booked 1", "succeeded"]];

/** A run that books for as long as it takes the world, also if it is cancelled meanwhile. */
const booking = (world: () => World, takes: Duration) =>
  child.handler(async ({ step, input }) => {
    await step.run("work", () => world().foreign(takes), { timeout: "5 minutes" });
    return `booked ${input.nr}`;
  });

/** A run that has invoked a booking, which is under way. */
async function invoking() {
  const { told, compensate } = noting();
  const world: World = await family(
    async ({ step }) => void (await step.invoke("it", child, { nr: 1 }, { compensate })),
    booking(() => world, "30s"),
  );
  const run = await world.start(tested);
  await world.pass("10s");
  return { told, world, run };
}

describe("the end of an invoked run is recorded, and its undo is told of it,", () => {
  test("where the parent was paused when it came, and is cancelled then", async () => {
    const { told, world, run } = await invoking();
    await world.ask((client) => client.pause(run.runId));
    await world.pass("1 minute");
    await cancel(world, run);
    expect(await world.run(run)).toMatchObject({ status: "cancelled", undos: { owed: 1, done: 1 } });
    expect(told).toEqual(booked);
    expect(await recordsOf({ world, run })).toEqual(["closing ", "child it", "ending ", "step [undo]/it"]);
  });

  test("where it comes while the parent closes", async () => {
    const { told, world, run } = await invoking();
    await cancel(world, run);
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(await recordsOf({ world, run })).toContain("child it");
    expect(told).toEqual([[undefined, "unknown"]]); // the run itself was cancelled
  });

  test("where the handler fails by something that came before it", async () => {
    const { told, compensate } = noting();
    const world: World = await family(
      async ({ step }) => {
        const failing = step.sleep("nap", "30s").then(no);
        await Promise.all([failing, step.invoke("it", child, { nr: 1 }, { compensate })]);
      },
      booking(() => world, "32s"),
    );
    const run = await world.start(tested);
    await world.pass("10s");
    await world.ask((client) => client.pause(run.runId));
    await world.pass("1 minute");
    await world.ask((client) => client.resume(run.runId));
    expect(await world.run(run)).toMatchObject({ status: "failed", undos: { owed: 1, done: 1 } });
    expect(told).toEqual(booked);
  });

  test("where it is abandoned, and over by then", async () => {
    const { told, compensate } = noting();
    const world: World = await family(
      async ({ step }) => {
        const failing = step.run("hold", () => world.foreign("1 minute")).then(no);
        const invoked = step.race("first", [
          ({ step }) => step.invoke("it", child, { nr: 1 }, { compensate, onParentEnd: "abandon" }),
          async ({ step }) => void (await step.sleep("nap", "1s")),
        ]);
        await Promise.all([failing, invoked]);
      },
      booking(() => world, "30s"),
    );
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "failed", undos: { owed: 1, done: 1 } });
    expect(told).toEqual(booked);
  });

  test("of each of many, though one answer has no room for their results", async () => {
    const { told, compensate } = noting();
    const large = "x".repeat(700_000);
    const invoke = (step: TestedStep, nr: number) => step.invoke(`it ${nr}`, child, { nr }, { compensate });
    const world: World = await family(
      async ({ step }) => {
        const failing = step.sleep("nap", "30s").then(no);
        await Promise.all([failing, ...[1, 2, 3].map((nr) => invoke(step, nr))]);
      },
      child.handler(async ({ step, input }) => {
        await step.run("work", () => world.foreign("32s"));
        return `${input.nr} ${large}`;
      }),
    );
    const run = await world.start(tested);
    await world.pass("10s");
    await world.ask((client) => client.pause(run.runId));
    await world.pass("1 minute");
    await world.ask((client) => client.resume(run.runId));
    expect(await world.run(run)).toMatchObject({ status: "failed", undos: { owed: 3, done: 3 } });
    expect(told.map((one) => JSON.stringify(one).slice(0, 4)).toSorted()).toEqual(['["1 ', '["2 ', '["3 ']);
  });
});

test("code without the undo goes on behind such an end, and the other undos are carried out", async () => {
  const { told, compensate } = noting();
  const of = booking(() => world, "30s");
  const handle = (undo: object) => async (context: { readonly step: TestedStep }) => {
    await context.step.run("charge", () => 1, { compensate });
    await context.step.invoke("it", child, { nr: 1 }, undo);
  };
  const slow = { run: () => world.foreign("1 hour"), timeout: "2 hours", retry: { maxAttempts: 2, delay: "1 hour" } };
  const world: World = await family(handle({ compensate: slow }), of);
  const run = await world.start(tested);
  await world.pass("10s");
  await world.ask((client) => client.pause(run.runId));
  await world.pass("1 minute");
  await cancel(world, run);
  await world.pass("10 minutes");
  expect(await world.get(run.runId)).toMatchObject({ status: "compensating" });
  await world.deploy({ workflows: [tested.handler(handle({})), of], deployment: { name: "world", id: "new" } });
  await world.run(run);
  expect(await world.get(run.runId)).toMatchObject({ status: "cancelled", undos: { owed: 2, done: 2 } });
  expect(told).toEqual([[1, "succeeded"]]);
});
