/** Who is measured. The first of a scenario's contenders is what the others are compared with. */

import { batchBound } from "./batch-bound.ts";
import type { Contender } from "./contender.ts";
import { lowerBound } from "./lower-bound.ts";

/** Loads the run's history in every claim, as a handler must that was never here before. */
export const bound: Contender = lowerBound({ name: "bound", loads: "everything" });

/** Keeps the histories that it saw in memory, and loads what is new. */
export const boundKeepingHistory: Contender = lowerBound({ name: "bound, history kept", loads: "what is new" });

/** A hundred runs per call. */
export const boundOfBatches: Contender = batchBound({ batch: 100 });
