/** The bodies of steps that are under way: a body cannot use `step`. */
import { nested } from "./divergence.ts";

export class CalledBodies {
  readonly #underWay = new Set<string>();
  /** The step whose body is being called right now. */
  #called: string | undefined;

  /** The names of the steps. */
  get underWay(): readonly string[] {
    return [...this.#underWay];
  }

  /** Calls the body of a step. The step is under way until `end`. One process may carry out several at a time. */
  call<Result>(place: string, body: () => Result): Result {
    const outer = this.#called;
    this.#called = place;
    this.#underWay.add(place);
    try {
      return body();
    } finally {
      this.#called = outer;
    }
  }

  end(place: string): void {
    this.#underWay.delete(place);
  }

  /** @throws LayoverError `nested_step` in the body of a step, which is not run again in a replay */
  checkIsOutside(path: string): void {
    if (this.#called !== undefined) throw nested(path, this.#called);
  }
}
