/** What is told of a handler that does something that is not meant so, in words for people. */

/** A wait of the handler's own ended in time. It need not be so at the next replay. */
export function foreignAwait(place: string | undefined): string {
  return `the handler awaits something ${where(place)} that is no step: it is done again at each replay, and must not take longer than a second. Put it into step.run`;
}

/** A wait of the handler's own took too long, so its turn ended without having got on. */
export function foreignAwaitTooLong(place: string | undefined): string {
  return `the handler awaits something ${where(place)} that is no step, and it took longer than a second. Put it into step.run`;
}

function where(place: string | undefined): string {
  return place === undefined ? "at its beginning" : `after ${place}`;
}

/** It asked for something, and returned before that was done. */
export function notAwaited(what: string): string {
  return `the handler returned, and nothing awaited ${what}: it may never be carried out. Write "await" before it`;
}

/** Why a run is blocked that an earlier release has closed, and whose code has not ended now. */
export const goesOnRegardless =
  "the run closes, since its handler had ended, and this code goes on. Deploy code that ends there, or terminate the run";
