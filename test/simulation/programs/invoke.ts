/** `step.invoke` and `step.start`: another run, which sleeps, does a step, and returns or fails. */
import fc from "fast-check";
import { NonRetryableError, workflow } from "layover";
import * as z from "zod";
import { markOf, type Program, type Verb } from "./part.ts";
import { eitherOf, exactly } from "./prospects.ts";
import { like } from "./thrown.ts";
import { compensation, type UndoSpec, undoInWords, undos } from "./undo.ts";
import { options } from "./words.ts";

/** The contract of the runs that programs start. No deployment lacks its version. */
const offspring = workflow({
  name: "offspring",
  version: 1_000,
  input: z.object({ mark: z.string(), ms: z.number(), fails: z.boolean() }),
  output: z.string(),
});

export const offspringWorkflow = offspring.handler(async ({ input, step }) => {
  if (input.ms > 0) await step.sleep("nap", input.ms);
  if (input.fails) throw new NonRetryableError(input.mark);
  return await step.run("work", () => input.mark);
});

interface InvokeSpec {
  readonly ms: number;
  readonly fails?: boolean;
  readonly timeout?: number;
  readonly isAbandoned?: boolean;
  readonly undo?: UndoSpec | undefined;
}

/** The name of an invoked run that can be undone. Nothing else in a program has it. */
export const undoable = "trip";

function invoking({ ms, fails = false, timeout, isAbandoned = false, undo }: InvokeSpec): Program {
  const name = undo === undefined ? "child" : undoable;
  return {
    kind: undo === undefined ? "invoke" : "undo",
    parts: [],
    play: async (playing) => {
      const { step, at } = playing;
      const mark = markOf(name, at);
      const options = {
        ...(timeout !== undefined && { timeout }),
        ...(isAbandoned && { onParentEnd: "abandon" as const }),
        ...compensation(undo, playing, mark, ({ runId }: { readonly runId: string }) => runId),
      };
      return { invoked: await step.invoke(name, offspring, { mark, ms, fails }, options) };
    },
    prospects: ({ at }) => {
      const mark = markOf(name, at);
      const timedOut = like({ name: "TimeoutError", says: `the invoked run "${name}"` });
      const crashed = like({ name: "ChildFailedError", cause: { name: "StepError" } });
      const failed = like({ name: "ChildFailedError", says: mark, cause: { name: "NonRetryableError" } });
      return {
        returns: fails ? undefined : exactly({ invoked: mark }),
        throws: eitherOf([fails ? failed : crashed, timeout === undefined ? undefined : timedOut]),
        mayHang: false,
      };
    },
    inWords: (at) =>
      `await step.invoke("${name}", offspring${options({ mark: markOf(name, at), ms, fails, timeout, isAbandoned, compensate: undoInWords(undo) })})`,
  };
}

/** Starts such a run and leaves it. */
function starting({ ms, fails = false }: InvokeSpec): Program {
  return {
    kind: "start",
    parts: [],
    play: async ({ step, at }) => {
      const { runId } = await step.start("left", offspring, { mark: markOf("left", at), ms, fails });
      return { started: runId.length };
    },
    prospects: () => ({ returns: exactly({ started: 36 }), throws: undefined, mayHang: false }),
    inWords: (at) => `await step.start("left", offspring${options({ mark: markOf("left", at), ms, fails })})`,
  };
}

const sleeps = fc.constantFrom(0, 0, 1_000, 90_000, 600_000);
const invokes = fc
  .record({
    ms: sleeps,
    fails: fc.constantFrom(false, false, true),
    timeout: fc.constantFrom(undefined, undefined, 0, 60_000, 600_000),
    isAbandoned: fc.boolean(),
    undo: fc.option(undos, { freq: 2, nil: undefined }),
  })
  .map(({ timeout, ...spec }) => invoking({ ...spec, ...(timeout !== undefined && { timeout }) }));

export const invoke: Verb = {
  weight: 2,
  arbitrary: () =>
    fc.oneof({ weight: 4, arbitrary: invokes }, { weight: 1, arbitrary: fc.record({ ms: sleeps }).map(starting) }),
  orderly: () => fc.record({ ms: sleeps }).map(invoking),
};

/** Invokes runs that can be undone. */
export const invokeWithUndo: Verb = {
  weight: 1,
  arbitrary: () =>
    fc
      .record({ ms: sleeps, fails: fc.constantFrom(false, false, true), isAbandoned: fc.boolean(), undo: undos })
      .map(invoking),
};
