/** What the calls of a run may be told (runs.ts). */
import type * as wire from "../../src/postgres/wire.ts";
import type * as operations from "../../src/postgres/wire-operations.ts";

export interface StartOptions {
  readonly runId?: string;
  readonly timeoutMs?: number;
  readonly delayMs?: number;
  /** The user's own. */
  readonly id?: string;
  readonly encodedInput?: string;
  readonly sent?: string;
  readonly signature?: string;
  readonly traceparent?: string;
  readonly tags?: Readonly<Record<string, string>>;
}

export interface ClaimOptions {
  readonly turn?: number;
  /** A name; the same one is the same token. */
  readonly token: string;
  readonly alone?: boolean;
  readonly groupSize?: number;
  readonly have?: { readonly epoch: number; readonly position: number };
}

export interface Late {
  readonly notAfter?: number;
}
export interface Armed {
  readonly armed?: readonly number[];
}

export interface OperateOptions extends Partial<operations.OperationCall>, Late, Armed {
  readonly namespace?: string;
}

export interface FinishOptions extends Partial<Omit<wire.FinishRun, "runId" | "token" | "claim">> {
  readonly token: string;
  readonly claim?: ClaimOptions;
}

export interface BranchFinishOptions
  extends Pick<Partial<wire.FinishBranch>, "armed" | "attempt" | "blocked" | "setback"> {
  readonly token: string;
  readonly turn?: number;
  readonly value?: string;
  readonly isFailure?: boolean;
}
