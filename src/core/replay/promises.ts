/** Promises that a handler is given for what it asks for, and that it need not await. */

/** Stands for what nobody waits for any more. Each asker gets one of its own: what awaits one that all share is kept in memory for ever. */
export function never(): Promise<never> {
  return new Promise(() => {});
}

/** Makes a promise that may fail with nobody left to look, as the loser of a race does. */
export function unwatched<Value>() {
  const made = Promise.withResolvers<Value>();
  made.promise.catch(() => {});
  return made;
}

/** A promise that is rejected, and that nobody has to look at. */
export function rejected(error: Error): Promise<never> {
  const { promise, reject } = unwatched<never>();
  reject(error);
  return promise;
}
