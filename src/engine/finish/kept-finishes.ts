/**
 * Finishes that the database did not take. They are kept in memory, and sent again until the database takes them or
 * somebody else holds the lease. Their bodies are done: if their results were thrown away, the bodies would be carried
 * out once more. Meanwhile their leases are renewed, and the process claims nothing new.
 *
 * At first one of them is sent alone. Only when the database takes it, the others follow, a few at a time. So a
 * database that comes back does not meet all of them at once.
 *
 * A run that somebody has locked keeps its own finish only: the others go on. Such a finish waits at the lock whenever it
 * is sent, and so one of them is sent in each round. Otherwise they would take all connections of the pool.
 */
import type { HostClock } from "../../core/ports.ts";
import { pause } from "../../core/waits.ts";
import type { Gate } from "../claim/gate.ts";
import type { Refusal } from "./refusal.ts";

export interface KeptFinish {
  readonly bytes: number;
  /** The instant from which it is not sent again, by the host's monotonic clock. */
  readonly endsAt: number;
  /** Sends it alone. Answers why it was refused again. Undefined: nothing is left to send. Never rejects. */
  readonly send: () => Promise<Refusal | undefined>;
  readonly giveUp: (refusal: Refusal) => void;
}

export interface KeptFinishesOptions {
  readonly gate: Gate;
  readonly host: HostClock;
  readonly random: () => number;
}

/** The most bytes of results in memory. From this bound on nothing is claimed, whatever the reason of the refusals. */
const mostBytes = 64 * 1024 * 1024;
const shortestPauseMs = 1_000;
const longestPauseMs = 30_000;
/** The longest pause if the database gave no answer, or the run was locked. That may be over at any moment. */
const longestBriefMs = 5_000;
/** How many of them are sent at a time, once the database has taken one. */
const senders = 8;

export class KeptFinishes {
  readonly #options: KeptFinishesOptions;
  readonly #kept = new Map<KeptFinish, Refusal>();
  readonly #abandoned = new AbortController();
  #bytes = 0;
  #ofDatabase = 0;
  #isSending = false;

  constructor(options: KeptFinishesOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#kept.size;
  }

  keep(finish: KeptFinish, refusal: Refusal): void {
    if (this.#abandoned.signal.aborted) {
      finish.giveUp(refusal);
      return;
    }
    this.#add(finish, refusal);
    if (this.#isSending) return;
    this.#isSending = true;
    void this.#sendAll();
  }

  /** Gives up all of them, and every finish that is refused from now on. Their leases run out. */
  abandon(): void {
    this.#abandoned.abort();
    for (const finish of [...this.#kept.keys()]) this.#giveUp(finish);
  }

  async #sendAll(): Promise<void> {
    let round = 0;
    while (this.#kept.size > 0) {
      await this.#rest(round);
      const isAnyTaken = await this.#sendRound();
      round = isAnyTaken ? 0 : round + 1;
    }
    this.#isSending = false;
  }

  /** Sends the first one to see whether the database takes any, then the others. Answers whether any was taken. */
  async #sendRound(): Promise<boolean> {
    const locked = [...this.#kept.keys()].filter(this.#isLocked);
    const queue = new Set([...locked, ...this.#kept.keys()]).values();
    let isStopped = false;
    let isAnyLocked = false;
    let isAnyTaken = false;
    const sendSome = async (most: number): Promise<void> => {
      for (let sent = 0; sent < most && !isStopped; sent += 1) {
        const { value: finish } = queue.next();
        if (finish === undefined) return;
        if (isAnyLocked && this.#isLocked(finish)) continue;
        const refusal = await this.#send(finish);
        isAnyTaken ||= refusal === undefined;
        isStopped ||= refusal?.isOfDatabase ?? false;
        isAnyLocked ||= refusal?.isLocked ?? false;
      }
    };
    await sendSome(1);
    await Promise.all(Array.from({ length: senders }, () => sendSome(Number.POSITIVE_INFINITY)));
    const now = this.#options.host.monotonic();
    for (const finish of [...this.#kept.keys()]) if (now >= finish.endsAt) this.#giveUp(finish);
    return isAnyTaken;
  }

  readonly #isLocked = (finish: KeptFinish): boolean => this.#kept.get(finish)?.isLocked ?? false;

  async #send(finish: KeptFinish): Promise<Refusal | undefined> {
    if (!this.#kept.has(finish)) return undefined;
    const refusal = await finish.send();
    if (!this.#remove(finish)) return undefined; // it was given up meanwhile
    if (refusal === undefined) return undefined;
    this.#add(finish, refusal); // it goes behind the others
    return refusal;
  }

  #giveUp(finish: KeptFinish): void {
    const refusal = this.#kept.get(finish);
    if (this.#remove(finish) && refusal !== undefined) finish.giveUp(refusal);
  }

  async #rest(round: number): Promise<void> {
    const { host, random } = this.#options;
    const refusals = [...this.#kept.values()];
    if (round === 0 && refusals.some(({ isOfValue }) => isOfValue)) return; // no pause makes it fit
    const isBrief = refusals.every(({ isAnswered, isLocked }) => isLocked || !isAnswered);
    const longest = isBrief ? longestBriefMs : longestPauseMs;
    const growing = Math.min(shortestPauseMs * 2 ** round, longest - shortestPauseMs);
    const end = Math.min(...[...this.#kept.keys()].map(({ endsAt }) => endsAt));
    const ms = Math.min(shortestPauseMs + random() * growing, Math.max(0, end - host.monotonic()));
    await pause(host, ms, this.#abandoned.signal).catch(() => {});
  }

  #add(finish: KeptFinish, refusal: Refusal): void {
    this.#kept.set(finish, refusal);
    this.#count(finish, refusal, 1);
  }

  /** Removes the finish. Answers whether it was there. */
  #remove(finish: KeptFinish): boolean {
    const refusal = this.#kept.get(finish);
    if (refusal === undefined) return false;
    this.#kept.delete(finish);
    this.#count(finish, refusal, -1);
    return true;
  }

  #count({ bytes }: KeptFinish, { isOfDatabase }: Refusal, by: 1 | -1): void {
    this.#bytes += by * bytes;
    if (isOfDatabase) this.#ofDatabase += by;
    if (this.#ofDatabase > 0 || this.#bytes >= mostBytes) this.#options.gate.close(this);
    else this.#options.gate.open(this);
  }
}
