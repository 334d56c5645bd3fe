/**
 * Work of a process that no port sees: values are encrypted, or their digests computed, in threads of the runtime. The world waits for it as for
 * a macrotask. While the work itself waits for calls outside, it is at rest. Of calls that go side by side, nothing is seen before the last one.
 */
import { AsyncLocalStorage } from "node:async_hooks";

interface Work {
  /** How many calls outside it waits for. */
  calls: number;
  isOver: boolean;
}

export class UnseenWork {
  readonly #under = new AsyncLocalStorage<Work>();
  readonly #count: (by: 1 | -1) => void;

  /** `count`: adds to what the world waits for. */
  constructor(count: (by: 1 | -1) => void) {
    this.#count = count;
  }

  async run<Answer>(act: () => Promise<Answer>): Promise<Answer> {
    const work: Work = { calls: 0, isOver: false };
    this.#count(1);
    try {
      return await this.#under.run(work, act);
    } finally {
      work.isOver = true;
      if (work.calls === 0) this.#count(-1);
    }
  }

  /** A call outside, amid the work. */
  async outside<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    const work = this.#under.getStore();
    if (work === undefined || work.isOver) return await call();
    work.calls += 1;
    if (work.calls === 1) this.#count(-1);
    try {
      return await call();
    } finally {
      work.calls -= 1;
      if (work.calls === 0 && !work.isOver) this.#count(1);
    }
  }
}
