/**
 * `try` and `finally` with `step.cleanup` in the end: what also goes on when the run is cancelled. A cleanup does steps,
 * which fail and are tried again, sleeps, and scopes. Several may go on side by side.
 */
import fc from "fast-check";
import { allOf } from "./all.ts";
import { caught, tryCatch } from "./caught.ts";
import type { ProgramStep } from "./contract.ts";
import { drawn } from "./drawn.ts";
import { failing } from "./fail.ts";
import { cleaned, tryFinally } from "./finally.ts";
import { type Program, partAt, type Verb } from "./part.ts";
import { plainly } from "./plain.ts";
import { scope } from "./scope.ts";
import { sequence, sequenceOf } from "./sequence.ts";
import { sleep } from "./sleep.ts";
import { stepWithoutUndo } from "./step.ts";
import { lambda } from "./words.ts";

type Room = Parameters<Parameters<ProgramStep["cleanup"]>[1]>[0]["step"];

/** Nothing else in a program has this name. So the path of a record tells whether it was asked for in a cleanup. */
const name = "tidy";

export function inCleanup(body: Program): Program {
  return {
    kind: "cleanup",
    parts: [body],
    play: async (playing) => {
      const { at, entered } = playing;
      const tidy = (room: Room) =>
        body.play({ ...playing, step: stepOf(playing.step, room), at: partAt(at, 0), isCleanup: true });
      entered.add(at);
      try {
        return await playing.step.cleanup(name, ({ step }) => tidy(step));
      } finally {
        entered.delete(at);
      }
    },
    prospects: (judging) => body.prospects({ ...judging, at: partAt(judging.at, 0) }),
    inWords: (at) => `await step.cleanup("${name}", ${lambda("{ step }", body.inWords(partAt(at, 0)))})`,
  };
}

/** A part takes a whole `step`. Those of a cleanup use no more of it than the cleanup's own has. */
function stepOf(whole: ProgramStep, room: Room): ProgramStep {
  return {
    ...whole,
    ...room,
    scope: (name, inside) => room.scope(name, ({ step }) => inside({ step: stepOf(whole, step) })),
  };
}

/** Makes what a cleanup does, of these. */
function bodiesOf(leaf: fc.Arbitrary<Program>, verbs: readonly Verb["arbitrary"][]): fc.Arbitrary<Program> {
  const structure = fc.oneof(...verbs.map((verb) => verb(leaf)));
  return fc.oneof({ withCrossShrink: true }, { weight: 2, arbitrary: leaf }, { weight: 1, arbitrary: structure });
}

const nothing = fc.constant(plainly("all", []));
const sideBySide: Verb["arbitrary"] = (inner) =>
  fc.array(inner, { minLength: 1, maxLength: 2, size: "max" }).map((parts) => plainly("all", parts));
const structures = [...[sequence, scope, tryCatch, tryFinally].map(({ arbitrary }) => arbitrary), sideBySide];
const leaves = (steps: fc.Arbitrary<Program>) =>
  fc.oneof(
    { withCrossShrink: true },
    { weight: 4, arbitrary: steps },
    { weight: 2, arbitrary: sleep.arbitrary(nothing) },
    { weight: 1, arbitrary: drawn.arbitrary(nothing) },
  );

function cleanups(steps: fc.Arbitrary<Program>): Verb["arbitrary"] {
  const one = bodiesOf(leaves(steps), structures).map(inCleanup);
  const clean = fc.oneof(
    { withCrossShrink: true },
    { weight: 2, arbitrary: one },
    { weight: 1, arbitrary: sideBySide(one) },
  );
  return (inner) => fc.tuple(inner, clean).map(([body, clean]) => cleaned(body, clean));
}

/** The handler throws, perhaps amid such a cleanup. */
const besideThrow: Verb["arbitrary"] = (inner) =>
  fc.tuple(inner, sleep.arbitrary(nothing)).map(([part, nap]) => allOf([part, sequenceOf([nap, failing("Error")])]));
const anyCleanups = cleanups(stepWithoutUndo.arbitrary(nothing));

export const cleanup: Verb = {
  weight: 3,
  arbitrary: (inner) =>
    fc.oneof(
      { withCrossShrink: true },
      { weight: 3, arbitrary: anyCleanups(inner) },
      { weight: 1, arbitrary: besideThrow(anyCleanups(inner)) },
    ),
  orderly: cleanups(stepWithoutUndo.arbitrary(nothing).map(caught)),
};
