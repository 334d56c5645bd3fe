/**
 * The world outside: who starts runs, sends them signals and answers their callbacks, over HTTP. It insists: whatever is
 * not answered is sent again, with the same ids, until it is.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { InputOf } from "layover";
import { HttpClient, LayoverError } from "layover/client";
import { v7 } from "uuid";
import { errand, notes } from "./errand.ts";

export interface OutsideOptions {
  readonly apiKey: string;
  /** Where to send the next request. */
  readonly anyUrl: () => string;
  /** In [0, 1). */
  readonly random: () => number;
}

/** What was done to a run, and so what its answer must be. */
export interface Errand {
  readonly runId: string;
  readonly id: string;
  readonly parcels: readonly string[];
  readonly slow: InputOf<typeof errand>["slow"];
  /** What its callback is answered by. */
  readonly code: string;
  /** What its signal `hurry` says. */
  readonly hurry: string;
}

/** What passes by itself: nobody there, or no database. */
const passing = new Set(["unreachable", "database_unavailable", "unexpected_answer", "too_late"]);
const pauseMs = 100;
const longestWaitMs = 3_000;
const nowhere = "http://any.invalid";

export class Outside {
  /** Requests that were not answered and so sent again, by what was said of them. */
  readonly passed = new Map<string, number>();
  readonly #client: HttpClient;
  readonly #random: () => number;
  #isOver = false;

  constructor({ apiKey, anyUrl, random }: OutsideOptions) {
    this.#random = random;
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
    return { runId: v7(), id: `errand-${number}`, parcels, slow, code: `code ${number}`, hurry: `hurry ${number}` };
  }

  async #start({ runId, id, parcels, slow }: Errand): Promise<void> {
    const input = { parcels: [...parcels], slow };
    await this.#insist(() => this.#client.start(errand, input, { runId, id }));
  }

  /** All that is done to one run. `tokenOf` answers its callback's token once that is known; null: the run ended before. */
  async see(one: Errand, tokenOf: () => Promise<string | null>): Promise<void> {
    const { runId, code, hurry } = one;
    await this.#start(one);
    await Promise.all([this.#sendNotes(runId), this.#answer(tokenOf, code), this.#hurry(runId, hurry)]);
  }

  /** What a cron outside calls, since the processes do not know of each other. */
  async wake(): Promise<void> {
    try {
      await this.#client.wake();
    } catch (error) {
      this.#pass(error);
    }
  }

  /** Nobody insists any more. */
  close(): void {
    this.#isOver = true;
  }

  async #sendNotes(runId: string): Promise<void> {
    for (const note of notes) {
      await delay(this.#random() * 1_000);
      await this.#signal((signalId) => this.#client.signal(runId, "note", note, { contract: errand, signalId }));
    }
  }

  /** It may come at any time, after the end of the run too. */
  async #hurry(runId: string, hurry: string): Promise<void> {
    await delay(this.#random() * 5_000);
    await this.#signal((signalId) => this.#client.signal(runId, "hurry", hurry, { contract: errand, signalId }));
  }

  /** Whether a run that is over has all that it needed is not judged here. */
  async #signal(send: (signalId: string) => Promise<unknown>): Promise<void> {
    const signalId = v7();
    try {
      await this.#insist(() => send(signalId));
    } catch (error) {
      if (codeOf(error) !== "run_over") throw error;
    }
  }

  /** The first answer wins, and whoever answers otherwise is told so. */
  async #answer(tokenOf: () => Promise<string | null>, code: string): Promise<void> {
    const token = await tokenOf();
    if (token === null) return;
    const answer = (value: string) => this.#client.resolveCallback(token, { code: value }, { contract: errand });
    await this.#insist(() => answer(code));
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
