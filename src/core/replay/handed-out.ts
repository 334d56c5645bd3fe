/**
 * The promises that the verbs of `step` gave to a handler, and which of them it has looked at.
 *
 * Each is handled: one that fails before the handler comes to await it must not end the process. `await`, `then` and the
 * combinators all read a promise's `constructor` first (https://tc39.es/ecma262/#sec-promise-resolve), so a getter there
 * notes that somebody looks, and changes neither order nor result. The getter belongs to a prototype that all of these
 * promises share. (V8: a getter of each promise's own takes 0.5 µs to make, the prototype 0.2; and from the first such own
 * getter on every `await` of the process is slower. A subclass would settle some microtasks later, and histories of today
 * might replay in another order.)
 */

/** A promise that nobody has looked at yet. */
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

  /** The verb and the name, as people know them: `step "charge"`. */
  get what(): string {
    return `${this.#verb} ${JSON.stringify(this.#name)}`;
  }

  /** Its path, without an occurrence: the beginning of all paths that lie within. */
  get place(): string {
    return this.#prefix + this.#name;
  }

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

export class HandedOut {
  readonly #unseen = new Set<Unseen>();

  /** `prefix`: of the scope in which `name` is. */
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

  /** Those that did not succeed, in the order in which they were given. */
  get unseen(): readonly Unseen[] {
    return [...this.#unseen];
  }
}

/** Whether `path` is what `unseen` stands for, or lies within it. */
export function covers(unseen: Unseen, path: string): boolean {
  return path === unseen.place || ["/", "[", "#"].some((sign) => path.startsWith(unseen.place + sign));
}
