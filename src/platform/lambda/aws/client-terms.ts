/** What all clients of AWS have in common. */

/** How often a client tries: what is throttled or fails on AWS' side is tried again, after pauses of random length. */
export const clientTerms = {
  maxAttempts: 4,
  /** How long to wait for a connection, and for the answer to one try, in milliseconds. */
  requestHandler: { connectionTimeout: 2_000, requestTimeout: 4_000, throwOnRequestTimeout: true },
};

/** Ends a call that takes too long. */
export interface CallOptions {
  readonly abortSignal: AbortSignal;
}

/**
 * Lambda stops a chain of functions that call each other after some 16 calls. It follows the chain by a trace header, which
 * AWS' clients send along. Each dispatch begins a new chain, so that header is left out: otherwise a run of many steps would
 * be stopped, or the user's own function that its steps call.
 */
export function startingChains<Made extends { readonly middlewareStack: { remove(name: string): boolean } }>(
  client: Made,
): Made {
  client.middlewareStack.remove("recursionDetectionMiddleware");
  return client;
}
