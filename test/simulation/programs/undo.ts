/** The undo of a step or of an invoked run: it succeeds, at once or after attempts in trouble, or fails for good. */
import fc from "fast-check";
import type { RetryPolicy, UndoContext } from "layover";
import type { Playing } from "./part.ts";
import { lastOf, suffer, type Trouble, troubles } from "./trouble.ts";

export interface UndoSpec {
  /** What goes wrong in each of the first attempts. The one after them succeeds. */
  readonly tries: readonly Trouble[];
  /** Undefined: as often as an undo is tried by default. */
  readonly maxAttempts: number | undefined;
  readonly delay: number;
  /** How long a success takes, in milliseconds. */
  readonly takes: number;
  /** How many executions kill their process, before the others do what they do. */
  readonly deaths: number;
}

interface Undoing<Original> {
  readonly run: (returned: unknown, context: UndoContext<Original>) => unknown;
  readonly timeout: number;
  readonly retry?: RetryPolicy;
}

const timeout = 5_000;

/** Answers the key of a step. */
export function ofStep({ idempotencyKey }: { readonly idempotencyKey: string }): string {
  return idempotencyKey;
}

/**
 * Makes the option of what returns `result`. `keyOf`: the key of a step, or the id of an invoked run. A step in a cleanup has
 * no undo.
 */
export function compensation<Original>(
  spec: UndoSpec | undefined,
  { world, runId, isCleanup }: Playing,
  result: unknown,
  keyOf: (original: Original) => string,
): { readonly compensate?: Undoing<Original> } {
  if (spec === undefined || isCleanup) return {};
  const { tries, maxAttempts, delay, takes, deaths } = spec;
  return {
    compensate: {
      run: (returned, { attempt, outcome, original, idempotencyKey, abortSignal }) => {
        const trouble = tries[attempt - 1];
        world.ledger?.undo(runId, {
          key: idempotencyKey,
          attempt,
          of: keyOf(original),
          outcome,
          isResultRight: returned === (outcome === "succeeded" ? result : undefined),
          mayFail: failsForGood(spec),
          isInTrouble: trouble !== undefined,
        });
        if (deaths > 0 && world.nextTry(`${runId} ${idempotencyKey}`) <= deaths) return world.die();
        if (trouble === undefined) return takes === 0 ? undefined : world.foreign(takes);
        return suffer(trouble, { says: `attempt ${attempt} of an undo`, world, delay, timeout, abortSignal });
      },
      timeout,
      ...(maxAttempts !== undefined && { retry: { maxAttempts, delay, jitter: false } }),
    },
  };
}

function failsForGood({ tries, maxAttempts }: UndoSpec): boolean {
  return lastOf(tries, maxAttempts ?? Number.POSITIVE_INFINITY) !== undefined;
}

/** Undefined: the step has no undo. */
export function undoInWords(spec: UndoSpec | undefined): string | undefined {
  if (spec === undefined) return undefined;
  const { tries, maxAttempts = "many", deaths } = spec;
  const troubles = [...(deaths > 0 ? [`dies ${deaths} times`] : []), ...tries].join(", ");
  return troubles === "" ? "succeeds" : `${troubles}, of ${maxAttempts} attempts`;
}

const passing = fc.constantFrom<Trouble>("throws", "hangs", "is late", "asks for time");

/** Makes undos that end soon enough for a run that is to end soon. */
export const undos: fc.Arbitrary<UndoSpec> = fc.record({
  tries: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 2, arbitrary: fc.array(passing, { minLength: 1, maxLength: 2 }) },
    { weight: 2, arbitrary: fc.array(fc.constantFrom(...troubles), { minLength: 1, maxLength: 2 }) },
  ),
  maxAttempts: fc.constantFrom(undefined, 1, 2, 3),
  delay: fc.constantFrom(500, 15_000, 60_000),
  takes: fc.constantFrom(0, 0, 0, 200, 3_000),
  deaths: fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 2),
});
