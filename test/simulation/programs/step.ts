/** `step.run`: a body that succeeds, at once or after attempts in trouble, or fails for good. */
import fc from "fast-check";
import type { StepContext } from "layover";
import { caught } from "./caught.ts";
import { crashed } from "./crashed.ts";
import { markOf, type Program, type Verb } from "./part.ts";
import { eitherOf, exactly, returning, throwing } from "./prospects.ts";
import { failedBy, lastOf, suffer, type Trouble, troubles } from "./trouble.ts";
import { compensation, ofStep, type UndoSpec, undoInWords, undos } from "./undo.ts";
import { options } from "./words.ts";

export interface StepSpec {
  readonly name: string;
  /** What goes wrong in each of the first attempts. The one after them succeeds. */
  readonly tries?: readonly Trouble[];
  readonly maxAttempts?: number;
  readonly delay?: number;
  readonly timeout?: number;
  /** How long a success takes, in milliseconds. */
  readonly takes?: number;
  /** Whether the step has a key. Otherwise it is counted. */
  readonly isKeyed?: boolean;
  /** How many characters its result has more than it needs. */
  readonly padding?: number;
  readonly undo?: UndoSpec | undefined;
}

export function aStep(spec: StepSpec): Program {
  const { name, tries = [], maxAttempts = 4, delay = 500, timeout = 5_000, takes = 0, padding = 0 } = spec;
  const keyAt = (at: string) => (spec.isKeyed ? { key: at || "whole" } : {});
  return {
    kind: spec.undo === undefined ? "step" : "undo",
    parts: [],
    play: async (playing) => {
      const { step, runId, at, world, isCleanup } = playing;
      const mark = markOf(name, at);
      const result = mark.padEnd(mark.length + padding, "x");
      const body = ({ attempt, idempotencyKey, abortSignal }: StepContext): unknown => {
        world.onBody(runId, idempotencyKey, isCleanup);
        if (spec.undo !== undefined && !isCleanup) world.ledger?.charge(runId, idempotencyKey);
        const trouble = tries[attempt - 1];
        if (trouble !== undefined)
          return suffer(trouble, { says: sayingOf(attempt, mark), world, delay, timeout, abortSignal });
        return takes === 0 ? result : world.foreign(takes).then(() => result);
      };
      const given = await step.run(name, body, {
        ...{ retry: { maxAttempts, delay, jitter: false }, timeout, ...keyAt(at) },
        ...compensation(spec.undo, playing, result, ofStep),
      });
      return given === result ? mark : given;
    },
    prospects: ({ at, facts }) => {
      const mark = markOf(name, at);
      const last = lastOf(tries, maxAttempts);
      const calm =
        last === undefined
          ? returning(exactly(mark))
          : throwing(failedBy(last.trouble, last.attempt, sayingOf(last.attempt, mark)));
      return { ...calm, throws: eitherOf([calm.throws, crashed(facts.beginnings ?? 0)]) };
    },
    inWords: (at) => {
      const attempts = [...tries, markOf(name, at)].map((each) => JSON.stringify(each)).join(", ");
      const body = tries.length === 0 ? `() => ${attempts}` : `attempts(${attempts})`;
      const terms = tries.length === 0 ? { timeout: spec.timeout } : { maxAttempts, delay, timeout };
      return `await step.run("${name}", ${body}${options({ ...terms, takes: takes || undefined, padding: padding || undefined, ...keyAt(at), compensate: undoInWords(spec.undo) })})`;
    },
  };
}

function sayingOf(attempt: number, mark: string): string {
  return `attempt ${attempt} of ${mark}`;
}

export const names = fc.constantFrom("a", "b", "c");

const terms = {
  name: names,
  delay: fc.constantFrom(500, 15_000),
  timeout: fc.constantFrom(5_000, 90_000),
  takes: fc.constantFrom(0, 0, 0, 200, 3_000),
  isKeyed: fc.constantFrom(false, false, false, true),
  /** One in thirty is about as long as a result may be, and some are long enough for a store. */
  padding: fc.integer({ min: 0, max: 29 }).map((drawn) => (drawn === 29 ? 1_000_000 : drawn >= 24 ? 2_000 : 0)),
};
/** A slow body goes on when it is told of its run's cancel. It may end within the minute that it has then, or not. */
const paces = fc.constantFrom({}, {}, {}, { takes: 200 }, { takes: 3_000 }, { takes: 150_000, timeout: 300_000 });
const passing = fc.constantFrom<Trouble>("throws", "throws", "hangs", "is late", "asks for time");

/** `undo`: makes the undo of each step, or none. */
function stepsWith(undo: fc.Arbitrary<UndoSpec | undefined>): Required<Verb> {
  const calm = fc
    .record({ name: names, pace: paces, padding: terms.padding, isKeyed: terms.isKeyed, undo })
    .map(({ pace, ...spec }) => aStep({ ...spec, ...pace }));
  const shaky = fc
    .record({
      ...{ ...terms, undo, maxAttempts: fc.constantFrom(3, 4) },
      tries: fc.array(passing, { minLength: 1, maxLength: 2 }),
    })
    .map(aStep);
  const failing = fc
    .record({
      ...{ ...terms, undo, maxAttempts: fc.constantFrom(1, 2, 3) },
      tries: fc.array(fc.constantFrom(...troubles), { minLength: 1, maxLength: 3, size: "max" }),
    })
    .map(aStep);
  const steps = (failing: fc.Arbitrary<Program>) =>
    fc.oneof(
      { withCrossShrink: true },
      { weight: 6, arbitrary: calm },
      { weight: 3, arbitrary: shaky },
      { weight: 2, arbitrary: failing },
    );
  return { weight: 6, arbitrary: () => steps(failing), orderly: () => steps(failing.map(caught)) };
}

export const step: Verb = stepsWith(fc.option(undos, { nil: undefined, freq: 2 }));

export const stepWithUndo: Required<Verb> = stepsWith(undos);

/** Those of a cleanup. */
export const stepWithoutUndo: Required<Verb> = stepsWith(fc.constant(undefined));
