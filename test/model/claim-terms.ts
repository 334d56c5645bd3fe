/** The terms of whoever claims or finishes. */
import type { Run } from "./run.ts";

export interface ClaimTerms {
  readonly namespace: string;
  /** Name and address of the deployment. */
  readonly environment: string;
  /** Whether the deployment has the code of the run's version. */
  readonly carries: (run: Run) => boolean;
  /** Id of the deployment. */
  readonly by?: string | undefined;
  /** How many turns are claimed, or finished, by the call. */
  readonly turns: number;
  /** Most bytes of the answer. Undefined: no limit. */
  readonly budgetBytes?: number | undefined;
}
