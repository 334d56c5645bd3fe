/**
 * The workflow of the campaign: all that a run can do and wait for, and a right answer that is known. Whatever its steps
 * result in is made up anew at each execution, so a run can only end right if each result was kept once and for all.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { NonRetryableError, type StepContext, StepError, type Workflow, workflow } from "layover";
import * as z from "zod";
import type { Happen } from "./effects.ts";

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
/** The steps that have undos, in an errand that is to fail. */
export const undoable: readonly string[] = ["first", "ship[0]/pack", "left", "right"];
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
    const seen: string[] = [];
    /** What a body does: it leaves its trace, and takes some time before and after. */
    const act = (path: string, token: string | null = null) => {
      const known = [...seen];
      const ms = path === input.slow ? slowMs : Math.random() * longestBodyMs;
      return async ({ attempt, idempotencyKey }: StepContext): Promise<string> => {
        const value = `${path} ${randomUUID()}`;
        onBegin(run.runId, path);
        await delay(ms / 2);
        const { pid } = process;
        await happen({ runId: run.runId, path, attempt, idempotencyKey, pid, value, seen: known, token });
        await delay(ms / 2);
        return value;
      };
    };
    /** The options of a step that is undone where the errand fails. An undo sees what its step saw, and does as much. */
    const undone = (path: string) => {
      if (!input.fails) return { retry };
      const undo = act(undoPath(path));
      return { retry, compensate: { run: (_: unknown, context: StepContext) => undo(context), retry } };
    };
    const see = <Result extends string>(result: Result): Result => {
      seen.push(result);
      return result;
    };

    const work = async () => {
      const first = see(await step.run("first", act("first"), undone("first")));
      const flakyBody = act("flaky");
      const flaky = see(
        await step.run(
          "flaky",
          async (context) => {
            const value = await flakyBody(context);
            if (context.attempt < 3) throw new Error("not yet");
            return value;
          },
          { retry },
        ),
      );
      await step.sleep("rest", "1s");
      const taken: number[] = [];
      for (const _ of notes) taken.push(await step.waitForSignal("note"));
      const approval = await step.waitForCallback(
        "approval",
        async ({ token, ...context }) => {
          await act("approval/announce", token)(context);
        },
        { retry },
      );
      see(approval.code);
      const sent = await step.map(
        "ship",
        input.parcels,
        async (_, { step, index }) => {
          if (index === 0) await step.run("pack", act("ship[0]/pack"), undone("ship[0]/pack"));
          return await step.run("send", act(`ship[${index}]/send`), { retry });
        },
        { maxConcurrency: 2 },
      );
      for (const one of sent) see(one);
      const [left, right] = await Promise.all([
        step.run("left", act("left"), undone("left")),
        step.run("right", act("right"), undone("right")),
        step.sleep("beside", "700ms"),
      ]);
      see(left);
      see(right);
      const hurry = see(
        await step.race("hurry or late", [
          ({ step }) => step.waitForSignal("hurry"),
          async ({ step }) => {
            await step.sleep("late", "1s");
            return late;
          },
        ]),
      );
      const refused = await refusedBy(() =>
        step.run("refused", () => {
          throw new NonRetryableError("no");
        }),
      );
      const last = see(await step.run("last", act("last"), { retry }));
      if (input.fails) throw new NonRetryableError(failure);
      return { first, flaky, notes: taken, approval: approval.code, sent, beside: [left, right], hurry, refused, last };
    };
    try {
      return await work();
    } finally {
      await step.cleanup("tidy", ({ step }) => step.run("tidy", act(tidy), { retry }));
    }
  });
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
