/**
 * The world outside: people who start runs, send them signals and answer their callbacks, over HTTP. They insist: a
 * request that is not answered is sent again, with the same ids, until it is.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { InputOf } from "layover";
import { HttpClient, LayoverError } from "layover/client";
import { v7 } from "uuid";
import { errand, notes } from "./errand.ts";
import { deliver } from "./sender.ts";

export interface OutsideOptions {
  readonly apiKey: string;
  /** Where to send the next request. */
  readonly anyUrl: () => string;
  /** Draws a random number in [0, 1). */
  readonly random: () => number;
}

/** What was done to a run, and so what its answer must be. */
export interface Errand {
  readonly runId: string;
  readonly id: string;
  readonly parcels: readonly string[];
  readonly slow: InputOf<typeof errand>["slow"];
  /** Code with which its callback is answered. */
  readonly code: string;
  /** Payload of its signal `hurry`. */
  readonly hurry: string;
  /** Whether it fails at its end, and owes undos. */
  readonly fails: boolean;
  /** Whether a sender's delivery starts it. */
  readonly isDelivered: boolean;
  /** How long after its start somebody cancels it. Undefined: nobody does. */
  readonly cancelAfterMs: number | undefined;
}

/** Codes of errors that pass by themselves: no process is there, or one that is about to end, or no database. */
const passing = new Set(["unreachable", "closing", "database_unavailable", "unexpected_answer", "too_late"]);
const pauseMs = 100;
const longestWaitMs = 3_000;
const longestUntilCancelMs = 4_000;
const nowhere = "http://any.invalid";

export class Outside {
  /** How many requests were not answered and so sent again, by the error's code. */
  readonly passed = new Map<string, number>();
  /** The runs of which somebody was told that they are cancelled. */
  readonly cancelled = new Set<string>();
  readonly #client: HttpClient;
  readonly #random: () => number;
  readonly #anyUrl: () => string;
  #isOver = false;

  constructor({ apiKey, anyUrl, random }: OutsideOptions) {
    this.#random = random;
    this.#anyUrl = anyUrl;
    this.#client = new HttpClient({
      url: nowhere,
      apiKey,
      retry: { maxAttempts: 1 },
      timeout: longestWaitMs,
      fetch: (url, init) => fetch(url.replace(nowhere, anyUrl()), init),
    });
  }

  makeUp(number: number): Errand {
    const parcels = Array.from({ length: 1 + Math.floor(this.#random() * 4) }, (_, index) => `parcel ${index}`);
    const slow = this.#random() < 0.1 ? "first" : "none";
    const cancelAfterMs = number % 3 === 2 ? this.#random() * longestUntilCancelMs : undefined;
    const answers = { code: `code ${number}`, hurry: `hurry ${number}` };
    const fails = number % 4 === 3;
    const isDelivered = number % 5 === 1;
    return { runId: v7(), id: `errand-${number}`, parcels, slow, ...answers, cancelAfterMs, fails, isDelivered };
  }

  async #start({ runId, id, parcels, slow, fails, isDelivered }: Errand): Promise<void> {
    const input = { parcels: [...parcels], slow, fails };
    if (isDelivered) {
      const send = () => this.#insist(() => deliver(this.#anyUrl(), `delivery of ${id}`, { runId, id, input }));
      await Promise.all([send(), send()]);
      return await send();
    }
    await this.#insist(() => this.#client.start(errand, input, { runId, id }));
  }

  /**
   * Does all that people do to one run. `tokenOf` answers its callback's token once that is known; null: the run ended
   * before.
   */
  async see(one: Errand, tokenOf: () => Promise<string | null>): Promise<void> {
    const { runId, hurry } = one;
    await this.#start(one);
    await Promise.all([
      this.#sendNotes(runId),
      this.#answer(one, tokenOf),
      this.#hurry(runId, hurry),
      this.#cancel(one),
    ]);
  }

  /** Asks until there is an answer. @throws LayoverError, if the answer is a refusal */
  async ask<Answer>(what: (client: HttpClient) => Promise<Answer>): Promise<Answer> {
    return await this.#insist(() => what(this.#client));
  }

  /** Wakes a process, as a cron outside does, since the processes do not know of each other. */
  async wake(): Promise<void> {
    try {
      await this.#client.wake();
    } catch (error) {
      this.#pass(error);
    }
  }

  /** Ends the insisting: nothing is sent again any more. */
  close(): void {
    this.#isOver = true;
  }

  async #sendNotes(runId: string): Promise<void> {
    for (const note of notes) {
      await delay(this.#random() * 1_000);
      await this.#signal((signalId) => this.#client.signal(runId, "note", note, { contract: errand, signalId }));
    }
  }

  /** Sends the signal `hurry` at any time, also after the end of the run. */
  async #hurry(runId: string, hurry: string): Promise<void> {
    await delay(this.#random() * 5_000);
    await this.#signal((signalId) => this.#client.signal(runId, "hurry", hurry, { contract: errand, signalId }));
  }

  /** Sends a signal. A run that is over may refuse it: whether the run had all that it needed is not judged here. */
  async #signal(send: (signalId: string) => Promise<unknown>): Promise<void> {
    const signalId = v7();
    try {
      await this.#insist(() => send(signalId));
    } catch (error) {
      if (codeOf(error) !== "run_over") throw error;
    }
  }

  /** Cancels the run, unless it is over before. */
  async #cancel({ runId, cancelAfterMs }: Errand): Promise<void> {
    if (cancelAfterMs === undefined) return;
    const callId = v7();
    await delay(cancelAfterMs);
    try {
      await this.#insist(() => this.#client.cancel(runId, { callId }));
      this.cancelled.add(runId);
    } catch (error) {
      if (codeOf(error) !== "not_applicable") throw error;
    }
  }

  /** Answers the callback, and expects that another answer is then refused as a conflict. */
  async #answer({ code, cancelAfterMs }: Errand, tokenOf: () => Promise<string | null>): Promise<void> {
    const token = await tokenOf();
    if (token === null) return;
    const answer = (value: string) => this.#client.resolveCallback(token, { code: value }, { contract: errand });
    const first = await this.#insist(() => answer(code)).catch(codeOf);
    if (first === "callback_expired" && cancelAfterMs !== undefined) return;
    const refused = await this.#insist(() => answer("another")).catch(codeOf);
    if (refused === "callback_conflict") return;
    throw new Error(`a callback took a second answer, or refused it as ${String(refused)}`);
  }

  async #insist<Answer>(what: () => Promise<Answer>): Promise<Answer> {
    while (!this.#isOver) {
      try {
        return await what();
      } catch (error) {
        this.#pass(error);
        await delay(pauseMs);
      }
    }
    throw new Error("is not answered, however often it is asked");
  }

  #pass(error: unknown): void {
    const code = codeOf(error);
    if (code === undefined || !passing.has(code)) throw error;
    this.passed.set(code, (this.passed.get(code) ?? 0) + 1);
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof LayoverError ? error.code : undefined;
}
