/**
 * What a callback's token stands for. The engine has tokens sealed without knowing how (see http/callback-token.ts), so
 * that a handler gets its URL without any I/O.
 */

/** The one wait that a token answers. */
export interface CallbackRef {
  readonly runId: string;
  readonly epoch: number;
  readonly path: string;
  readonly occurrence: number;
  readonly workflow: string;
  readonly version: number;
  /** The callback's name in the contract. */
  readonly name: string;
  /** What the page behind its URL says. They stand in the token, so they are no secret to whoever has it. */
  readonly title?: string;
  readonly text?: string;
  /** From when on the token opens nothing any more, in epoch milliseconds. Left out: it opens for ever. */
  readonly endsAt?: number;
}

const dayMs = 24 * 60 * 60 * 1_000;
/** A wait begins when its announcement is done, which may be tried again for days. */
const marginMs = 30 * dayMs;
const yearMs = 365 * dayMs;

/** When the token ends of a callback that is waited for until then; after a year, where its wait has no end. */
export function endOfToken(now: number, deadline: number | undefined): number {
  return deadline === undefined ? now + yearMs : deadline + marginMs;
}

/** Always the same token for the same wait, so a body that is tried again announces the same URL. */
export type SealCallback = (ref: CallbackRef) => { readonly token: string; readonly url: string };

/** Undefined for a token that is not ours. */
export type OpenCallback = (token: string) => CallbackRef | undefined;
