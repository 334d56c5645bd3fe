/**
 * Small workflow programs, made at random, whose right answers are known without any engine.
 *
 *   const workflow = programContract.handler(playing(program, world));
 *   expect(allows(program, outcomeOf(view), facts)).toBe(true);
 *
 * A new verb joins with a file of its own and its name in one of the two lists here.
 */
import fc from "fast-check";
import type { RunView } from "../../../src/client/run-view.ts";
import { all } from "./all.ts";
import { callback } from "./callback.ts";
import { tryCatch } from "./caught.ts";
import { cleanup } from "./cleanup.ts";
import { close } from "./close.ts";
import type { ProgramHandler } from "./contract.ts";
import { drawn } from "./drawn.ts";
import { early } from "./early.ts";
import { either } from "./either.ts";
import { fail } from "./fail.ts";
import { tryFinally } from "./finally.ts";
import { foreign } from "./foreign.ts";
import { invoke, invokeWithUndo } from "./invoke.ts";
import { laps } from "./laps.ts";
import { left, leftBehind } from "./left.ts";
import { loop } from "./loop.ts";
import { map } from "./map.ts";
import { once } from "./once.ts";
import type { Facts, Program, ProgramWorld, Verb } from "./part.ts";
import { patched } from "./patched.ts";
import { plain } from "./plain.ts";
import { poison } from "./poison.ts";
import type { Prospects } from "./prospects.ts";
import { race } from "./race.ts";
import { say } from "./say.ts";
import { scope } from "./scope.ts";
import { sequence, sequenceOf } from "./sequence.ts";
import { isTakenOnce, signal } from "./signal.ts";
import { sleep } from "./sleep.ts";
import { step, stepWithUndo } from "./step.ts";
import { thrownOf } from "./thrown.ts";
import { transaction } from "./transaction.ts";
import { lambda } from "./words.ts";

export type { Answered, Facts, Program, ProgramWorld } from "./part.ts";

/** What is simple comes first: failing programs shrink towards it. */
const leaves = [step, sleep, signal, callback, invoke, drawn, fail];
const structures = [
  sequence,
  scope,
  all,
  ...plain,
  map,
  race,
  tryCatch,
  tryFinally,
  cleanup,
  either,
  early,
  loop,
  left,
];

/** How a run ended. */
export type Outcome =
  | { readonly kind: "returned"; readonly value: unknown }
  /** An Error or an ErrorValue. */
  | { readonly kind: "threw"; readonly error: unknown };

/** Answers how a run ended. Undefined: it is not over, or nothing that it did ended it. */
export function outcomeOf({
  status,
  result,
  error,
}: Pick<RunView, "status" | "result" | "error">): Outcome | undefined {
  if (status === "completed") return { kind: "returned", value: result };
  return status === "failed" ? { kind: "threw", error } : undefined;
}

/** `entered`: gets the cleanups that the handler is in. */
export function playing(program: Program, world: ProgramWorld, entered?: Set<string>): ProgramHandler {
  return async ({ step, run: { runId, version } }) => {
    const returned = await program.play({ step, runId, at: "", world, entered: entered ?? new Set() });
    world.onReturn?.(runId, version);
    return returned;
  };
}

/** Tells whether a run of this program may end so, in any order of events and whoever dies. */
export function allows(program: Program, outcome: Outcome, facts: Facts): boolean {
  const { returns, throws } = prospectsOf(program, facts);
  if (outcome.kind === "threw") return throws?.(thrownOf(outcome.error)) ?? false;
  return (returns?.(outcome.value) ?? false) && isTakenOnce(outcome.value, facts);
}

/**
 * Tells whether a run may still wait when nothing more comes: for a signal that nobody sent, or that another wait
 * took.
 */
export function mayWait(program: Program, facts: Facts): boolean {
  return prospectsOf(program, facts).mayHang;
}

/** Writes the program as TypeScript, to be read by people. */
export function inWords(program: Program): string {
  return lambda("{ step }", program.inWords(""));
}

/** Answers every part of the program, itself first. A part that is repeated comes as often as it may be played. */
export function partsOf(program: Program): readonly Program[] {
  return [program, ...program.parts.flatMap(partsOf)];
}

function prospectsOf(program: Program, facts: Facts): Prospects {
  const parts = partsOf(program);
  const takers = (name: string) => parts.filter(({ takes }) => takes === name).length;
  const isClosed = (name: string) => parts.some(({ closes }) => closes === name);
  const mayDrift = parts.some(({ kind }) => kind === "foreign");
  return program.prospects({ at: "", facts, takers, isClosed, mayDrift });
}

/** Programs whose result hangs on nothing but themselves. */
export const orderly: fc.Arbitrary<Program> = programs(orderlyOf(leaves), orderlyOf(structures), 3);

/** Any but those that kill their process, close a name, write to a table outside, ask for code that has changed, or await something that is no step. */
export const wild: fc.Arbitrary<Program> = programs(leaves, structures, 4);

export const any: fc.Arbitrary<Program> = fc.oneof(
  { withCrossShrink: true },
  {
    weight: 9,
    arbitrary: programs([...leaves, close, poison, transaction, once, patched, say], structures, 4, foreign),
  },
  { weight: 1, arbitrary: laps(orderly).map((program) => legible([program])) },
);

const undoable = fc.oneof(
  { withCrossShrink: true },
  { weight: 4, arbitrary: stepWithUndo.arbitrary(any) },
  { weight: 1, arbitrary: invokeWithUndo.arbitrary(any) },
  { weight: 1, arbitrary: invokeWithUndo.arbitrary(any).map(leftBehind) },
);

/** Programs that do something, and then one or two things that can be undone, and fail. */
export const doomed: fc.Arbitrary<Program> = fc
  .tuple(any, fc.array(undoable, { minLength: 1, maxLength: 2, size: "max" }), fail.arbitrary(any))
  .map(([first, steps, last]) => legible([first, ...steps, last]));

function legible(list: readonly Program[]) {
  return { ...sequenceOf(list), [fc.toStringMethod]: () => inWords(sequenceOf(list)) };
}

function orderlyOf(verbs: readonly Verb[]): Verb[] {
  return verbs.flatMap(({ weight, orderly }) => (orderly === undefined ? [] : [{ weight, arbitrary: orderly }]));
}

/**
 * `nesting`: how often a part has parts, for every 2 that have none. `first`: what one in eight begins with, as it may
 * stand beside nothing else.
 */
function programs(
  leaves: readonly Verb[],
  structures: readonly Verb[],
  nesting: number,
  first?: fc.Arbitrary<Program>,
): fc.Arbitrary<Program> {
  const oneOf = (verbs: readonly Verb[], inner: fc.Arbitrary<Program>) =>
    fc.oneof(
      { withCrossShrink: true },
      ...verbs.map(({ weight, arbitrary }) => ({ weight, arbitrary: arbitrary(inner) })),
    );
  const leaf = oneOf(leaves, fc.constant(sequenceOf([])));
  const atDepth = (depth: number): fc.Arbitrary<Program> => {
    if (depth === 0) return leaf;
    const structure = yielding(oneOf(structures, atDepth(depth - 1)));
    return fc.oneof(
      { withCrossShrink: true },
      { weight: 2, arbitrary: leaf },
      { weight: nesting, arbitrary: structure },
    );
  };
  const others = fc.array(atDepth(3), { minLength: 1, maxLength: 2, size: "max" });
  const parts =
    first === undefined
      ? others
      : fc
          .tuple(fc.option(first, { nil: undefined, freq: 7 }), others)
          .map(([one, list]) => [...(one ? [one] : []), ...list]);
  return parts.map(legible);
}

/**
 * Now and then makes one part of the program alone. So a failure may shrink to a part, which fast-check cannot know
 * of.
 */
function yielding(structure: fc.Arbitrary<Program>): fc.Arbitrary<Program> {
  return fc.tuple(fc.nat(19), structure).map(([choice, program]) => {
    const part = choice === 0 ? program.parts[0] : choice === 1 ? program.parts.at(-1) : undefined;
    return part ?? program;
  });
}
