/**
 * The workflow of the campaign: all that a run can do and wait for, and a right answer that is known. Whatever its steps
 * result in is made up anew at each execution, so a run can only end right if each result was kept once and for all.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { NonRetryableError, type StepContext, StepError, type Workflow, workflow } from "layover";
import * as z from "zod";
import type { Happen } from "./effects.ts";
import { trip, tripPath } from "./trip.ts";

export const Input = z.object({
  parcels: z.array(z.string()),
  /** Whose body outlasts its lease, which must be renewed. */
  slow: z.enum(["first", "ship[0]/pack", "none"]),
  /** Whether it fails at its end, and owes undos. */
  fails: z.boolean(),
});

export const Output = z.object({
  first: z.string(),
  flaky: z.string(),
  notes: z.array(z.number()),
  approval: z.string(),
  sent: z.array(z.string()),
  beside: z.array(z.string()),
  trip: z.string(),
  hurry: z.string(),
  refused: z.string(),
  last: z.string(),
});

export const errand = workflow({
  name: "errand",
  version: 1,
  input: Input,
  output: Output,
  signals: { note: z.number(), hurry: z.string() },
  callbacks: { approval: z.object({ code: z.string() }) },
});

export const notes = [1, 2, 3] as const;
export const late = "too late";
/** The step that cleans up after each run, also after one that is cancelled. */
export const tidy = "tidy/tidy";
export const refusal = "no after 1";
/** The steps and invoked runs that have undos, in an errand that is to fail. */
export const undoable: readonly string[] = ["first", "ship[0]/pack", "left", "right", tripPath];
/** What such an errand fails with. */
export const failure = "nobody was at home";

export function undoPath(path: string): string {
  return `[undo]/${path}`;
}

/** The database that bodies write to is stopped and crashed as well: they are tried until it is there. */
const retry = { maxAttempts: 10_000, delay: "100ms", maxDelay: "500ms" } as const;
const slowMs = 3_000;
const longestBodyMs = 200;

/** `onBegin` is told of each body before anything else, so that not even one that dies at once is missed. */
export function errandWorkflow(happen: Happen, onBegin: (runId: string, path: string) => void): Workflow {
  return errand.handler(async ({ input, step, run }) => {
    const bodies = new Bodies({ input, runId: run.runId, happen, onBegin });
    try {
      return await carryOut(step, input, run.runId, bodies);
    } finally {
      await step.cleanup("tidy", ({ step }) => step.run("tidy", bodies.act(tidy), { retry }));
    }
  });
}

type ErrandStep = Parameters<Parameters<typeof errand.handler>[0]>[0]["step"];

interface BodiesOptions {
  readonly input: z.output<typeof Input>;
  readonly runId: string;
  readonly happen: Happen;
  readonly onBegin: (runId: string, path: string) => void;
}

/** The bodies of one execution of the workflow. Each tells the world outside which results it has seen. */
class Bodies {
  readonly #options: BodiesOptions;
  readonly #seen: string[] = [];

  constructor(options: BodiesOptions) {
    this.#options = options;
  }

  /** Answers a body: it leaves its trace, and takes some time before and after. `told`: what it sees besides. */
  act(
    path: string,
    token: string | null = null,
    told: readonly string[] = [],
  ): (context: StepContext) => Promise<string> {
    const { input, runId, happen, onBegin } = this.#options;
    const seen = [...this.#seen, ...told];
    const ms = path === input.slow ? slowMs : Math.random() * longestBodyMs;
    return async ({ attempt, idempotencyKey }) => {
      const value = `${path} ${randomUUID()}`;
      onBegin(runId, path);
      await delay(ms / 2);
      await happen({ runId, path, attempt, idempotencyKey, pid: process.pid, value, seen, token });
      await delay(ms / 2);
      return value;
    };
  }

  /** The options of a step that is undone where the errand fails. An undo sees what its step saw, and does as much. */
  undone(path: string) {
    if (!this.#options.input.fails) return { retry };
    const undo = this.act(undoPath(path));
    return { retry, compensate: { run: (_: unknown, context: StepContext) => undo(context), retry } };
  }

  /** The options of the run that it invokes. The undo sees what the run resulted in, too, if it is told that. */
  undoneTrip() {
    if (!this.#options.input.fails) return {};
    const run = (booked: string | undefined, context: StepContext) =>
      this.act(undoPath(tripPath), null, booked === undefined ? [] : [booked])(context);
    return { compensate: { run, retry } };
  }

  see<Result extends string>(result: Result): Result {
    this.#seen.push(result);
    return result;
  }
}

async function carryOut(step: ErrandStep, input: z.output<typeof Input>, errandId: string, bodies: Bodies) {
  const first = bodies.see(await step.run("first", bodies.act("first"), bodies.undone("first")));
  const flaky = bodies.see(await step.run("flaky", failingTwice(bodies.act("flaky")), { retry }));
  await step.sleep("rest", "1s");
  const taken: number[] = [];
  for (const _ of notes) taken.push(await step.waitForSignal("note"));
  const approval = await step.waitForCallback(
    "approval",
    async ({ token, ...context }) => {
      await bodies.act("approval/announce", token)(context);
    },
    { retry },
  );
  bodies.see(approval.code);
  const sent = await ship(step, input.parcels, bodies);
  const [left, right, booked] = await Promise.all([
    step.run("left", bodies.act("left"), bodies.undone("left")),
    step.run("right", bodies.act("right"), bodies.undone("right")),
    step.invoke(tripPath, trip, { errandId }, bodies.undoneTrip()),
    step.sleep("beside", "700ms"),
  ]);
  const beside = [bodies.see(left), bodies.see(right)];
  bodies.see(booked);
  const hurry = bodies.see(await hurryOrLate(step));
  const refused = await refusedBy(() =>
    step.run("refused", () => {
      throw new NonRetryableError("no");
    }),
  );
  const last = bodies.see(await step.run("last", bodies.act("last"), { retry }));
  if (input.fails) throw new NonRetryableError(failure);
  return { first, flaky, notes: taken, approval: approval.code, sent, beside, trip: booked, hurry, refused, last };
}

function failingTwice(body: (context: StepContext) => Promise<string>) {
  return async (context: StepContext): Promise<string> => {
    const value = await body(context);
    if (context.attempt < 3) throw new Error("not yet");
    return value;
  };
}

async function ship(step: ErrandStep, parcels: readonly string[], bodies: Bodies): Promise<string[]> {
  const sent = await step.map(
    "ship",
    parcels,
    async (_, { step, index }) => {
      if (index === 0) await step.run("pack", bodies.act("ship[0]/pack"), bodies.undone("ship[0]/pack"));
      return await step.run("send", bodies.act(`ship[${index}]/send`), { retry });
    },
    { maxConcurrency: 2 },
  );
  return sent.map((one) => bodies.see(one));
}

async function hurryOrLate(step: ErrandStep): Promise<string> {
  return await step.race("hurry or late", [
    ({ step }) => step.waitForSignal("hurry"),
    async ({ step }) => {
      await step.sleep("late", "1s");
      return late;
    },
  ]);
}

async function refusedBy(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return "not at all";
  } catch (error) {
    if (error instanceof StepError) return `${error.cause.message} after ${error.attempts}`;
    throw error;
  }
}
