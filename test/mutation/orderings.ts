/** An order of operations or a margin in the TypeScript, and how to undo it. */

export interface Ordering {
  readonly name: string;
  readonly file: string;
  /** What would be lost without it. */
  readonly why: string;
  readonly find: string;
  readonly replace: string;
}

/** Files in which orderings of several kinds stand. */
export const waking = "src/core/waking.ts";
export const carryOutTurns = "src/engine/carry-out-turns.ts";
