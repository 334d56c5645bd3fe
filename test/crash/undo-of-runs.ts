/**
 * A trip whose parts are runs of their own. It is cancelled: one of them ends well without its parent, one is cancelled with it,
 * and the undo of each is told so.
 */
import { type UndoContext, workflow } from "layover";
import { expect } from "vitest";
import * as z from "zod";
import { World } from "../engine/world.ts";
import { expectSameEnd } from "./deaths.ts";
import { Effects, type Tell, type Told, tellCancelled } from "./story.ts";

const trip = workflow({ name: "trip", version: 1 });
const part = workflow({
  name: "part",
  version: 1,
  input: z.object({ name: z.string(), seconds: z.number() }),
  output: z.string(),
});

type Undo = Pick<UndoContext<unknown>, "outcome" | "error"> & { readonly result: unknown };

class Undone extends Effects {
  /** The result, outcome and error that each undo was told, by the name of the part that it undoes. */
  readonly told = new Map<string, Undo>();

  undo(name: string) {
    return (result: unknown, { outcome, error, ...context }: UndoContext<unknown>) => {
      const undo = { result, outcome, error: error && { ...error, stack: "" } };
      if (this.told.has(name)) expect(undo).toEqual(this.told.get(name));
      this.told.set(name, undo);
      this.happen(`undo ${name}`, { ...context, idempotencyKey: name });
    };
  }
}

/** The hotel takes ten minutes to clean up. The car is booked half a minute after the cancel. */
export const tellUndoOfRuns: Tell = async (database, options, prepare) => {
  const undone = new Undone();
  const partWorkflow = part.handler(async ({ input: { name, seconds }, step }) => {
    try {
      await step.sleep("hold", seconds * 1_000);
      return await step.run("book", (context) => undone.happen(`book ${name}`, context));
    } finally {
      if (name === "hotel") await step.cleanup("leave", ({ step }) => step.sleep("pack", "10 minutes"));
    }
  });
  const tripWorkflow = trip.handler(async ({ step }) => {
    await step.run("flight", (context) => undone.happen("book flight", context), { compensate: undone.undo("flight") });
    const car = { name: "car", seconds: 20 * 60 + 30 };
    await Promise.all([
      step.invoke("hotel", part, { name: "hotel", seconds: 86_400 }, { compensate: undone.undo("hotel") }),
      step.invoke("car", part, car, { onParentEnd: "abandon", compensate: undone.undo("car") }),
    ]);
  });
  const world = await World.begin(database, { ...options, workflows: [tripWorkflow, partWorkflow] });
  prepare(world);
  await world.pass("1s"); // whole minutes are where the scheduler looks
  const run = await world.start(trip);
  return await tellCancelled({ world, effects: undone, workflow: tripWorkflow }, run, "20 minutes");
};

/** Whatever died: the end of each part is recorded before its undo, and its undo is told that. */
export async function expectUndoneRuns(told: Told, undisturbed: Told): Promise<void> {
  await expectSameEnd(told, undisturbed);
  const { effects, history } = told;
  if (!(effects instanceof Undone)) throw new Error("The story undoes nothing.");
  expect(Object.fromEntries(effects.told)).toEqual({
    flight: { result: "book flight is done", outcome: "succeeded", error: undefined },
    car: { result: "book car is done", outcome: "succeeded", error: undefined },
    hotel: { result: undefined, outcome: "unknown", error: expect.objectContaining({ name: "CancelledError" }) },
  });
  const kinds = history.records.map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === "child")).toHaveLength(2);
  expect(kinds.lastIndexOf("child")).toBeLessThan(kinds.indexOf("ending"));
}
