/**
 * The promises that the verbs of `step` gave to a handler, and which of them it has looked at.
 *
 * Each is handled: one that fails before the handler comes to await it must not end the process. `await`, `then` and the
 * combinators all read a promise's `constructor` first (https://tc39.es/ecma262/#sec-promise-resolve), so a getter there
 * notes that somebody looks, and changes neither order nor result. (V8: every `await` of the process takes 0.7 µs
 * instead of 0.55 from the first such getter on. A subclass would cost it nothing, but would settle some microtasks
 * later, and histories of today might replay in another order.)
 */

import type { CallbackContext, Step, StepOptionsOfAnnouncement, WaitOptions } from "./step.ts";

/** A promise that nobody has looked at yet. */
export interface Unseen {
  /** The verb and the name, as people know them: `step "charge"`. */
  readonly what: string;
  /** Its path, without an occurrence: the beginning of all paths that lie within. */
  readonly place: string;
  hasFailed: boolean;
}

export class HandedOut {
  readonly #unseen = new Set<Unseen>();

  give<Result>(what: string, place: string, promise: Promise<Result>): Promise<Result> {
    const unseen: Unseen = { what, place, hasFailed: false };
    const isSeen = () => void this.#unseen.delete(unseen);
    this.#unseen.add(unseen);
    promise.then(isSeen, () => {
      unseen.hasFailed = true;
    });
    Reflect.defineProperty(promise, "constructor", {
      configurable: true,
      get: () => {
        isSeen();
        return Promise;
      },
    });
    return promise;
  }

  /** Those that did not succeed, in the order in which they were given. */
  get unseen(): readonly Unseen[] {
    return [...this.#unseen];
  }
}

/** Whether `path` is what `unseen` stands for, or lies within it. */
export function covers(unseen: Unseen, path: string): boolean {
  return path === unseen.place || ["/", "[", "#"].some((sign) => path.startsWith(unseen.place + sign));
}

/** The same verbs, whose promises are handed out. */
export function handingOut(step: Step, prefix: string, handedOut: HandedOut): Step {
  const give = <Result>(verb: string, name: string, promise: Promise<Result>) =>
    handedOut.give(`${verb} ${JSON.stringify(name)}`, prefix + name, promise);
  return {
    ...step,
    run: (name, body, options) => give("step", name, step.run(name, body, options)),
    sleep: (name, duration) => give("sleep", name, step.sleep(name, duration)),
    sleepUntil: (name, instant) => give("sleep", name, step.sleepUntil(name, instant)),
    waitForSignal: (name: string, options?: WaitOptions) =>
      give("the wait for signal", name, step.waitForSignal(name, options)),
    waitForCallback: (
      name: string,
      announce: (context: CallbackContext) => unknown,
      options?: WaitOptions & StepOptionsOfAnnouncement,
    ) => give("callback", name, step.waitForCallback(name, announce, options)),
    createCallback: (name) => {
      const callback = step.createCallback(name);
      const wait = (options?: WaitOptions) => give("the wait for callback", name, callback.wait(options));
      return { ...callback, wait };
    },
    close: (name) => give("close", name, step.close(name)),
    scope: (name, inside) => give("scope", name, step.scope(name, inside)),
    all: (name, branches) => give("all", name, step.all(name, branches)),
    race: (name, branches) => give("race", name, step.race(name, branches)),
    map: (name, items, each, options) => give("map", name, step.map(name, items, each, options)),
    mapSettled: (name, items, each, options) => give("map", name, step.mapSettled(name, items, each, options)),
  };
}
