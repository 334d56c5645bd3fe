/**
 * The finishes of one invocation, sent together: as soon as every turn that is still at work has handed its own in, or
 * 100 ms after the first, so that one slow body withholds nobody's result.
 */
import type { Calls } from "../postgres/calls.ts";
import type { HostClock } from "../postgres/clock.ts";
import type { ClaimCall, FinishAnswer, FinishBranch, FinishRun } from "../postgres/wire.ts";

export type Finish = Omit<FinishRun, "armed"> | Omit<FinishBranch, "armed">;

interface Waiting {
  readonly finish: Finish;
  readonly deadlines: readonly number[];
  readonly resolve: (answer: FinishAnswer) => void;
  readonly reject: (error: unknown) => void;
}

const longestMs = 100;

export class Finishes {
  readonly #calls: Calls;
  readonly #host: HostClock;
  readonly #claim: Omit<ClaimCall, "turns">;
  #waiting: Waiting[] = [];
  #atWork: number;
  #cancelTimer = () => {};

  constructor(options: { calls: Calls; host: HostClock; claim: Omit<ClaimCall, "turns">; turns: number }) {
    this.#calls = options.calls;
    this.#host = options.host;
    this.#claim = options.claim;
    this.#atWork = options.turns;
  }

  /** Hands in the finish of a turn that is at work; it is at work again when the answer is there. */
  async send(finish: Finish, deadlines: readonly number[]): Promise<FinishAnswer> {
    const answer = new Promise<FinishAnswer>((resolve, reject) => {
      this.#waiting.push({ finish, deadlines, resolve, reject });
    });
    this.#atWork -= 1;
    this.#consider();
    try {
      return await answer;
    } finally {
      this.#atWork += 1;
    }
  }

  /** A turn has nothing more to hand in. */
  leave(): void {
    this.#atWork -= 1;
    this.#consider();
  }

  #consider(): void {
    if (this.#waiting.length === 0) return;
    if (this.#atWork === 0) void this.#flush();
    else if (this.#waiting.length === 1) this.#cancelTimer = this.#host.after(longestMs, () => void this.#flush());
  }

  async #flush(): Promise<void> {
    this.#cancelTimer();
    const sent = this.#waiting;
    this.#waiting = [];
    try {
      const { turns } = await this.#calls.finishTurns(
        sent.map(({ finish }) => finish),
        sent.flatMap(({ deadlines }) => deadlines),
        sent.some(({ finish }) => "claim" in finish) ? this.#claim : undefined,
      );
      for (const [index, { resolve }] of sent.entries()) resolve(turns[index] ?? { outcome: "unknown" });
    } catch (error) {
      for (const { reject } of sent) reject(error);
    }
  }
}
