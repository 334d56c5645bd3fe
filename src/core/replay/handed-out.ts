/**
 * The promises that the verbs of `step` gave to a handler, and which of them the handler has looked at. If the handler
 * ends, and a promise has not succeeded and was never looked at, that is a mistake: nobody has awaited it.
 *
 * Each of these promises is handled from the beginning. Otherwise one that fails before the handler awaits it would end
 * the process. To notice a look, a getter stands in place of the promise's `constructor`. `await`, `then` and the
 * combinators all read that first (https://tc39.es/ecma262/#sec-promise-resolve). The getter changes neither order nor
 * result.
 *
 * All these promises share one prototype, which has the getter. A getter of each promise's own takes 0.5 µs to make, the
 * prototype 0.2 µs (V8); and from the first such own getter on, every `await` of the process is slower. A subclass of
 * Promise would settle some microtasks later, so old histories might replay in another order.
 */

import { placeName } from "./demand.ts";

/** A promise that the handler has not looked at yet. */
export class Unseen {
  hasFailed = false;
  readonly #verb: string;
  readonly #name: string;
  readonly #prefix: string;
  readonly #others: Set<Unseen>;

  constructor(verb: string, name: string, prefix: string, others: Set<Unseen>) {
    this.#verb = verb;
    this.#name = name;
    this.#prefix = prefix;
    this.#others = others;
  }

  /** The verb and the name as users know them, such as `step "charge"`. */
  get what(): string {
    return `${this.#verb} ${JSON.stringify(this.#name)}`;
  }

  /** The path of the step without its occurrence. The paths of all steps within it begin with this. */
  get place(): string {
    return this.#prefix + this.#name;
  }

  /** Notes that the handler has looked at it. */
  see(): void {
    this.#others.delete(this);
  }
}

const unseenOf = Symbol("unseen");

const watched: object = Object.create(Promise.prototype, {
  constructor: {
    get(this: { readonly [unseenOf]?: Unseen }) {
      this[unseenOf]?.see();
      return Promise;
    },
  },
});

/** All promises that one handler was given. */
export class HandedOut {
  readonly #unseen = new Set<Unseen>();

  /**
   * Hands out a promise. Answers the same promise, whose first look is noted. One that succeeds counts as looked at.
   *
   * @param prefix the path of the scope in which `name` is
   */
  give<Result>(verb: string, name: string, prefix: string, promise: Promise<Result>): Promise<Result> {
    const unseen = new Unseen(verb, name, prefix, this.#unseen);
    this.#unseen.add(unseen);
    promise.then(
      () => unseen.see(),
      () => {
        unseen.hasFailed = true;
      },
    );
    Reflect.setPrototypeOf(promise, watched);
    Reflect.set(promise, unseenOf, unseen);
    return promise;
  }

  /**
   * Answers the steps and waits that the handler was given and has not looked at, in the order in which it was given them. Those that have
   * succeeded, or lost a race, are left out. The list is empty if anything else is pending: the handler may have been about to await the
   * loser of a `Promise.race`.
   */
  unawaited(
    pending: readonly { readonly path: string; readonly occurrence: number }[],
    races: { has(path: string): boolean },
  ): readonly string[] {
    const unseen = [...this.#unseen].filter(({ place }) => !races.has(place));
    const places = new Set(unseen.map(({ place }) => place));
    if (pending.some((demand) => !isWithin(placeName(demand), places))) return [];
    return unseen.map(({ what, hasFailed }) => `${what}${hasFailed ? ", which failed" : ""}`);
  }
}

/** Answers true if `path` is one of these places, or lies within one. */
function isWithin(path: string, places: ReadonlySet<string>): boolean {
  return places.has(path) || [...path.matchAll(/[/[#]/g)].some(({ index }) => places.has(path.slice(0, index)));
}
