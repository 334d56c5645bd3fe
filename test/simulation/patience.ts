/** How somebody outside gets what they want: they wait, ask whatever process is there, and ask again until it is answered. */
import { type Client, type ErrorDetails, LayoverError } from "layover";
import { pause } from "../../src/core/waits.ts";
import { Timers } from "../../src/testing/timers.ts";
import type { Chance } from "../engine/chance.ts";
import type { Source } from "../engine/course.ts";
import type { Mortal } from "../engine/mortal.ts";

export interface PatienceOptions {
  readonly time: () => number;
  readonly chance: Chance;
  readonly processes: () => readonly Mortal[];
  readonly note: (line: () => string) => void;
}

/** What came of a question: an answer, or that it was refused for good. */
export type Answered<Answer> =
  | { readonly answer: Answer }
  | { readonly refused: string; readonly details?: ErrorDetails | undefined };

const againMs = 1_000;
/** What another try may cure. */
const passing = new Set(["database_unavailable", "too_late", "internal", "unreachable", "no_answer", "closing"]);

export class Patience implements Source {
  readonly chance: Chance;
  readonly #options: PatienceOptions;
  readonly #timers: Timers;
  /** What they wait to do, in order of time. */
  #errands: { readonly at: number; readonly what: string }[] = [];
  /** How many have something to do yet. */
  busy = 0;
  /** Somebody did what nobody should be able to. */
  readonly wrongs: string[] = [];

  constructor(options: PatienceOptions) {
    this.#options = options;
    this.chance = options.chance;
    this.#timers = new Timers(options.time);
  }

  happenings() {
    const next = this.#timers.next;
    if (next === undefined || next > this.#options.time()) return [];
    return [{ what: () => this.#nextErrand(), act: () => void this.#timers.fire() }];
  }

  next(): number | undefined {
    return this.#timers.next;
  }

  #nextErrand(): string {
    const [first] = this.#errands.toSorted((one, other) => one.at - other.at);
    return `somebody ${first?.what ?? "goes on"}`;
  }

  get now(): number {
    return this.#options.time();
  }

  /** Somebody does this, beside all others. */
  act(story: () => Promise<void>): void {
    this.busy += 1;
    void story().then(
      () => {
        this.busy -= 1;
      },
      (error: unknown) =>
        this.wrongs.push(`somebody outside failed: ${error instanceof Error ? error.stack : String(error)}`),
    );
  }

  /** `what`: what they do after it. */
  async pause(ms: number, what: string): Promise<void> {
    const at = this.#options.time() + ms;
    const errand = { at, what };
    this.#errands.push(errand);
    await pause(this.#timers, ms);
    this.#errands = this.#errands.filter((other) => other !== errand);
  }

  async hesitate(): Promise<void> {
    await this.pause(againMs, "asks again");
  }

  /** Asks until there is an answer, or a refusal that another try does not cure. */
  async insist<Answer>(
    question: (client: Client) => Promise<Answer>,
    { insists = true }: { readonly insists?: boolean } = {},
  ): Promise<Answered<Answer>> {
    for (;;) {
      const process = await this.anyone();
      const asked = process.request(question).then((answer) => ({ answer }), refusalOf);
      const outcome = await Promise.race([asked, process.gone]);
      if (outcome !== undefined && "refused" in outcome)
        this.#options.note(() => `… ${process.name} refuses: ${outcome.refused}`);
      if (outcome !== undefined && !("refused" in outcome && passing.has(outcome.refused))) return outcome;
      if (!insists) return { refused: "nobody asked again" };
      await this.hesitate();
    }
  }

  async anyone(): Promise<Mortal> {
    for (;;) {
      const processes = this.#options.processes();
      const process = processes[this.chance.below(Math.max(1, processes.length))];
      if (process !== undefined) return process;
      await this.hesitate();
    }
  }
}

function refusalOf(error: unknown): Exclude<Answered<never>, { answer: never }> {
  if (error instanceof LayoverError) return { refused: error.code, details: error.details };
  throw error;
}
