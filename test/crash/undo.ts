/** A trip that is booked step by step, and undone: it fails at its payment, or is cancelled while it waits. */
import { type Step, type StepContext, type UndoContext, workflow } from "layover";
import { expect } from "vitest";
import { World } from "../engine/world.ts";
import { expectSameEnd } from "./deaths.ts";
import { Effects, type Tell, type Told, tellCancelled } from "./story.ts";

const trip = workflow({ name: "trip", version: 1 });

/** What was booked and given back, by the key of the booking, as its provider sees it. */
class Bookings extends Effects {
  /** Names of what was booked. */
  readonly booked = new Map<string, string>();
  /** Names of what was given back, in order: a key stands in it once. */
  readonly #undone = new Map<string, string>();
  readonly #undoKeys = new Map<string, Set<string>>();

  book(name: string, context: StepContext): string {
    if (this.#undone.has(context.idempotencyKey)) throw new Error(`${name} was given back, and its key is occupied`);
    this.booked.set(context.idempotencyKey, name);
    return this.happen(name, context);
  }

  giveBack(name: string, { original, idempotencyKey, outcome }: UndoContext): void {
    const key = original.idempotencyKey;
    if (outcome === "succeeded") expect([...this.booked.keys()]).toContain(key);
    this.#undone.set(key, name);
    this.#undoKeys.set(key, (this.#undoKeys.get(key) ?? new Set()).add(idempotencyKey));
  }

  get undone(): readonly string[] {
    return [...this.#undone.values()];
  }

  /** Whatever was booked was given back, each by one undo. */
  expectNothingLeft(): void {
    expect([...this.#undone.keys()]).toEqual(expect.arrayContaining([...this.booked.keys()]));
    expect([...this.#undoKeys.values()].map(({ size }) => size)).toEqual(this.undone.map(() => 1));
  }
}

const booking = (bookings: Bookings) => (step: Pick<Step, "run">, name: string) =>
  step.run(name, (context) => bookings.book(name, context), {
    compensate: {
      run: (_, context) => {
        bookings.giveBack(name, context);
        if (name === "hotel" && context.attempt === 1) throw new Error("again");
      },
      retry: { delay: "5s", jitter: false },
    },
  });

/** Its last step fails. */
export const tellUndo: Tell = async (database, options, prepare) => {
  const bookings = new Bookings();
  const book = booking(bookings);
  const tripWorkflow = trip.handler(async ({ step }) => {
    await book(step, "flight");
    await step.race("view", [({ step }) => book(step, "sea view"), ({ step }) => book(step, "garden view")]);
    await book(step, "hotel");
    await step.map("seats", ["a", "b", "c"], (seat, { step }) => book(step, `seat ${seat}`), { maxConcurrency: 2 });
    await step.run("pay", () => Promise.reject(new Error("declined")), { retry: { maxAttempts: 1 } });
  });
  const world = await World.begin(database, { ...options, workflows: [tripWorkflow] });
  prepare(world);
  await world.pass("1s"); // whole minutes are where the scheduler looks
  const run = await world.start(trip);
  const view = await world.run(run);
  return { world, effects: bookings, workflow: tripWorkflow, view, history: await world.history(run) };
};

/** It is cancelled while two seats are booked, the third one waits, and the insurer is to be asked again. */
export const tellCancelledUndo: Tell = async (database, options, prepare) => {
  const bookings = new Bookings();
  const book = booking(bookings);
  const tripWorkflow = trip.handler(async ({ step }) => {
    await book(step, "flight");
    await book(step, "hotel");
    const insure = (context: StepContext) => {
      bookings.book("insurance", context);
      throw new Error("no answer");
    };
    await Promise.all([
      step.run("insurance", insure, {
        retry: { delay: "1 hour", maxDelay: "1 hour", jitter: false },
        compensate: (_, context) => bookings.giveBack("insurance", context),
      }),
      step.map(
        "seats",
        ["a", "b", "c"],
        async (seat, { step }) => {
          if (seat === "c") await step.sleep("hold", "10 days");
          return await book(step, `seat ${seat}`);
        },
        { maxConcurrency: 2 },
      ),
    ]);
  });
  const world = await World.begin(database, { ...options, workflows: [tripWorkflow] });
  prepare(world);
  await world.pass("1s"); // whole minutes are where the scheduler looks
  const run = await world.start(trip);
  return await tellCancelled({ world, effects: bookings, workflow: tripWorkflow }, run, "20 minutes");
};

/** It is cancelled while these are being booked, side by side if there are several. */
export const tellUndoAtWork =
  (names: readonly string[]): Tell =>
  async (database, options, prepare) => {
    const bookings = new Bookings();
    const tripWorkflow = trip.handler(async ({ step }) => {
      await booking(bookings)(step, "flight");
      const act = (name: string) => async (context: StepContext) => {
        bookings.book(name, context);
        return await world.foreign("50 seconds");
      };
      const compensate = (name: string) => (_: unknown, context: UndoContext) => bookings.giveBack(name, context);
      await Promise.all(names.map((name) => step.run(name, act(name), { compensate: compensate(name) })));
      await step.sleep("hold", "10 days");
    });
    const world: World = await World.begin(database, { ...options, workflows: [tripWorkflow] });
    prepare(world);
    await world.pass("1s"); // whole minutes are where the scheduler looks
    const run = await world.start(trip);
    return await tellCancelled({ world, effects: bookings, workflow: tripWorkflow }, run, "30 seconds");
  };

/**
 * Whatever died: the run's own end and error, and soon; all that was booked is given back once, the last one first, and
 * nothing that surely never began.
 */
export async function expectUndone(told: Told, undisturbed: Told): Promise<void> {
  await expectSameEnd(told, undisturbed);
  const { effects, history, view } = told;
  if (!(effects instanceof Bookings)) throw new Error("The story books nothing.");
  effects.expectNothingLeft();
  const paths = history.records.map(({ path }) => path);
  const prefix = "[undo]/";
  const undos = paths.filter((path) => path.startsWith(prefix)).map((path) => path.slice(prefix.length));
  expect(effects.undone).toEqual(undos.map((path) => path.split("/").at(-1)));
  if (view.status === "cancelled") expect(effects.undone).not.toContain("seat c");
  const positions = undos.map((path) => paths.indexOf(path)).filter((position) => position >= 0);
  expect(positions).toEqual(positions.toSorted((one, other) => other - one));
  const ending = history.records.findIndex(({ kind }) => kind === "ending");
  const afterEnding = ending === -1 ? [] : paths.slice(ending + 1);
  expect(afterEnding).toEqual(undos.map((path) => prefix + path));
}
