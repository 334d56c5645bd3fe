/**
 * The finishes of one invocation, sent together: as soon as every turn that is still at work has handed its own in, or
 * 100 ms after the first, so that one slow body withholds nobody's result. What the database does not take is kept and
 * sent again, alone (see kept-finishes.ts).
 */

import type { HostClock } from "../../core/ports.ts";
import type { Calls } from "../../postgres/calls.ts";
import type { ClaimCall, FinishAnswer } from "../../postgres/wire.ts";
import type { KeptFinishes } from "./kept-finishes.ts";
import { type Finish, lesserFinishes } from "./lesser-finishes.ts";
import { type Refusal, refusalBy, refusalIn } from "./refusal.ts";

type Taken = Exclude<FinishAnswer, { readonly outcome: "raised" }>;

/**
 * Is told what the database answered to the finish that was sent. That finish may say less than the one that was handed
 * in.
 */
type OnAnswer = (finish: Finish, answer: Taken) => void;

interface Waiting {
  readonly finish: Finish;
  readonly wakeInstants: readonly number[];
  readonly onAnswer: OnAnswer;
  readonly resolve: (answer: Taken) => void;
  readonly reject: (error: unknown) => void;
}

export interface FinishesOptions {
  readonly calls: Calls;
  readonly host: HostClock;
  readonly claim: Omit<ClaimCall, "turns">;
  readonly turns: number;
  readonly kept: KeptFinishes;
  /** The instant from which a finish is not sent again, by the host's monotonic clock. */
  readonly endsAt: number;
  readonly onError: (error: unknown, doing: string) => void;
}

const longestMs = 100;

export class Finishes {
  readonly #options: FinishesOptions;
  #waiting: Waiting[] = [];
  #atWork: number;
  #cancelTimer = () => {};

  constructor(options: FinishesOptions) {
    this.#options = options;
    this.#atWork = options.turns;
  }

  /**
   * Hands in the finish of a turn that is at work. Once the answer is there, the turn is at work again. The answer may
   * take as long as the database takes no results. If only a lesser finish could be recorded, the database answered
   * `finished`, and this answers `deferred` (the run goes on by a replay) or `superseded` (the run is blocked, so the
   * turn does nothing more).
   *
   * @throws the database's refusal, once nobody is to send the finish again
   */
  async send(finish: Finish, wakeInstants: readonly number[], onAnswer: OnAnswer): Promise<Taken> {
    const answer = new Promise<Taken>((resolve, reject) => {
      this.#waiting.push({ finish, wakeInstants, onAnswer, resolve, reject });
    });
    this.#atWork -= 1;
    this.#consider();
    try {
      return await answer;
    } finally {
      this.#atWork += 1;
    }
  }

  /** Notes that a turn has ended and hands in nothing more. */
  noteTurnEnded(): void {
    this.#atWork -= 1;
    this.#consider();
  }

  #consider(): void {
    const { host } = this.#options;
    if (this.#waiting.length === 0) return;
    if (this.#atWork === 0) void this.#flush();
    else if (this.#waiting.length === 1) this.#cancelTimer = host.after(longestMs, () => void this.#flush());
  }

  async #flush(): Promise<void> {
    this.#cancelTimer();
    const sent = this.#waiting;
    this.#waiting = [];
    const refusals = await this.#transmit(sent);
    const reported = new Set<unknown>(); // one broken call is one error, however many turns it held
    for (const [index, waiting] of sent.entries()) {
      const refusal = refusals[index];
      if (refusal === undefined) continue;
      if (!reported.has(refusal.error)) this.#report(refusal.error, waiting);
      reported.add(refusal.error);
      this.#keep(waiting, refusal);
    }
  }

  /**
   * Sends the finishes in one call. Answers a refusal in the place of each finish that was refused. The others got
   * their answers.
   */
  async #transmit(sent: readonly Waiting[]): Promise<readonly (Refusal | undefined)[]> {
    const { calls, claim } = this.#options;
    try {
      const { turns } = await calls.finishTurns(
        sent.map(({ finish }) => finish),
        sent.flatMap(({ wakeInstants }) => wakeInstants),
        sent.some(({ finish }) => "claim" in finish) ? claim : undefined,
      );
      return sent.map(({ finish, onAnswer, resolve }, index) => {
        const answer: FinishAnswer = turns[index] ?? { outcome: "unknown" };
        if (answer.outcome === "raised") return refusalIn(answer);
        onAnswer(finish, answer);
        resolve(answer);
        return undefined;
      });
    } catch (error) {
      const refusal = refusalBy(error);
      // Nobody knows whose run was locked, or whose parent or child.
      return sent.map(() => ({ ...refusal, isLocked: refusal.isLocked && sent.length === 1 }));
    }
  }

  #keep(waiting: Waiting, refusal: Refusal): void {
    const { kept, endsAt } = this.#options;
    let toSend: readonly Waiting[] = [waiting];
    const send = async (): Promise<Refusal | undefined> => {
      for (;;) {
        const [next, ...rest] = toSend;
        if (next === undefined) return undefined;
        const [again] = await this.#transmit([next]);
        if (again?.isOfValue !== true) return again;
        toSend = next === waiting ? lesserOf(waiting, again.reason) : rest;
        if (toSend.length === 0) {
          toSend = [next];
          return again;
        }
      }
    };
    const giveUp = ({ error }: Refusal) => waiting.reject(error);
    kept.keep({ bytes: waiting.finish.bytes ?? 0, endsAt, send, giveUp }, refusal);
  }

  #report(error: unknown, { finish: { runId } }: Waiting): void {
    this.#options.onError(error, `finishing a turn of run ${runId}`);
  }
}

/**
 * Makes the lesser finishes to send. A run that goes on from one of them is replayed, because its handler's memory is
 * ahead of the history.
 */
function lesserOf({ finish, wakeInstants, onAnswer, resolve, reject }: Waiting, reason: string): readonly Waiting[] {
  return lesserFinishes(finish, reason).map((lesser) => {
    const isBlocked = "next" in lesser ? lesser.next === "blocked" : "blocked" in lesser;
    // The database answered `finished`. The turn is told the outcome after which it does what it has to do now.
    const told = (answer: Taken): Taken => {
      if (answer.outcome !== "finished" || !("next" in lesser || isBlocked)) return answer;
      return isBlocked ? { outcome: "superseded" } : { ...answer, outcome: "deferred" };
    };
    return { finish: lesser, wakeInstants, onAnswer, resolve: (answer: Taken) => resolve(told(answer)), reject };
  });
}
