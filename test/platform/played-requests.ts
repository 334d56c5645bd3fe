/** Requests of a Worker to itself that are answered when a test says so, in time that passes by hand. */
import { afterEach, beforeEach, vi } from "vitest";
import type { TurnRef } from "../../src/core/ports.ts";
import { SelfDispatch } from "../../src/platform/cloudflare/self-dispatch.ts";
import { hostClock } from "../../src/postgres/host-clock.ts";

/** Has time pass by hand in each test of a file. Call it at the top of the file. */
export function playTime(): void {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });
}

/** Requests that are answered when the test says so. */
export class Requests {
  readonly sent: string[][] = [];
  readonly goOn: boolean[] = [];
  until = Number.POSITIVE_INFINITY;
  readonly held: Promise<void>[] = [];
  readonly errors: unknown[] = [];
  readonly #answers: { resolve: () => void; reject: (error: unknown) => void }[] = [];
  readonly selfDispatch = new SelfDispatch({
    send: (turns, goesOn) => {
      this.goOn.push(goesOn);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      this.sent.push(turns.map(({ runId }) => runId));
      this.#answers.push({ resolve, reject });
      return promise;
    },
    batch: 3,
    mostBytes: 6_000,
    mostRequests: 4,
    concurrency: 2,
    until: () => this.until,
    keepAlive: (sent) => void this.held.push(sent),
    onError: (error) => void this.errors.push(error),
    host: hostClock,
  });

  async dispatch(turns: readonly (string | TurnRef)[], delayMs = 0): Promise<void> {
    const refs = turns.map((turn) => (typeof turn === "string" ? { runId: turn, turn: 1 } : turn));
    await this.selfDispatch.dispatch(refs, delayMs);
  }

  async answer(error?: unknown): Promise<void> {
    const answer = this.#answers.shift();
    if (error === undefined) answer?.resolve();
    else answer?.reject(error);
    await pass(0);
  }
}

export const pass = async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms));
