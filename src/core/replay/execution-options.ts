/** What an execution is given, and what becomes of its handler. */
import type { Demand } from "./demand.ts";
import type { Segments } from "./segments.ts";
import type { FailedUndo } from "./undos.ts";

export type HandlerOutcome =
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "threw"; readonly error: unknown }
  /** All undos that were owed are done; `failed`: those that failed for good. */
  | { readonly kind: "undone"; readonly failed: readonly FailedUndo[] };

export interface ExecutionOptions {
  /** Resolves when the microtasks are drained and one macrotask has passed. */
  readonly atRest: () => Promise<void>;
  /** When the history begins, in epoch milliseconds: the first waits reckon from then. */
  readonly beginsAt: number;
  /** The run's id. */
  readonly runId?: string;
  /** What the history is made of. Undefined: it is of one piece. */
  readonly segments?: Segments | undefined;
  /** Is told of each demand where the handler asks for it: the stack of the call still leads to the handler's line. */
  readonly onDemand?: ((demand: Demand) => void) | undefined;
}
