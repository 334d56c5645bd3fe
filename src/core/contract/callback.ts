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
  /** The text of the page behind its URL. It stands in the token, so it is no secret to whoever has the URL. */
  readonly title?: string;
  readonly text?: string;
  /** The instant from which the token opens nothing any more, in epoch milliseconds. Left out: it opens for ever. */
  readonly endsAt?: number;
  /** How many records its run had handed out when it was made. Left out: an earlier release has made it. */
  readonly madeAt?: number;
  /**
   * The epoch of its run when it was made. A retry after that may have moved `madeAt`. Left out: it was made in the first epoch, or
   * by an earlier release.
   */
  readonly madeIn?: number;
}

const dayMs = 24 * 60 * 60 * 1_000;
/**
 * How long a token outlives its deadline. A wait begins only after its announcement, which may be tried again for days.
 */
const marginMs = 30 * dayMs;
const yearMs = 365 * dayMs;

/**
 * The instant at which the token of a callback ends. It depends on the deadline of the wait; without a deadline it is a
 * year from now.
 */
export function endOfToken(now: number, deadline: number | undefined): number {
  return deadline === undefined ? now + yearMs : deadline + marginMs;
}

/** Always the same token for the same wait, so a body that is tried again announces the same URL. */
export type SealCallback = (ref: CallbackRef) => { readonly token: string; readonly url: string };

/** Undefined for a token that is not ours. */
export type OpenCallback = (token: string) => CallbackRef | undefined;
