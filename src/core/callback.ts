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
}

/** Always the same token for the same wait, so a body that is tried again announces the same URL. */
export type SealCallback = (ref: CallbackRef) => { readonly token: string; readonly url: string };

/** Undefined for a token that is not ours. */
export type OpenCallback = (token: string) => CallbackRef | undefined;
