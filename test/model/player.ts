/** Plays whole sequences on Postgres, each in one call, and tells the first step that went otherwise than expected. */
import { readFileSync } from "node:fs";
import type { Client } from "pg";
import type { Wish } from "./commands.ts";
import { Game, type Step } from "./game.ts";
import { difference } from "./match.ts";

export const playSql = readFileSync(new URL("play.sql", import.meta.url), "utf8");

export interface Mismatch {
  /** Of the step in the sequence, from 0. */
  readonly index: number;
  readonly reasons: readonly string[];
}
export interface Played {
  readonly steps: readonly Step[];
  readonly mismatch: Mismatch | undefined;
  /** How often each outcome was seen. */
  readonly outcomes: readonly string[];
}

interface StepAnswer {
  readonly answer: unknown;
  readonly facts: unknown;
  readonly violations: readonly string[];
}

export class Player {
  readonly #client: Client;
  readonly #name: string;
  #played = 0;

  /** Players that play side by side need names of their own, of one character. */
  constructor(client: Client, name: string) {
    this.#client = client;
    this.#name = name;
  }

  async play(wishes: readonly Wish[]): Promise<Played> {
    this.#played += 1;
    const number = this.#played.toString(16).padStart(8, "0");
    const side = this.#name.charCodeAt(0).toString(16).padStart(4, "0");
    const ids = [1, 2, 3].map((run) => `${number}-${side}-7000-8000-00000000000${run}`);
    const game = new Game(`${this.#name}${number}`, ids);
    for (const wish of wishes) game.make(wish);
    const { steps } = game;
    const script = steps.map(({ now, fn, p, number, wasVoided }) => ({ now, fn, p, number, wasVoided }));
    const { rows } = await this.#client.query({
      name: "play",
      text: "select layover_test.play($1) as answers",
      values: [JSON.stringify({ runs: ids, steps: script })],
    });
    const answers: readonly StepAnswer[] = rows[0]?.answers ?? [];
    return {
      steps,
      mismatch: firstMismatch(steps, answers),
      outcomes: answers.flatMap(({ answer }, index) => outcomesOf(steps[index], answer)),
    };
  }
}

function firstMismatch(steps: readonly Step[], answers: readonly StepAnswer[]): Mismatch | undefined {
  for (const [index, { expected, facts }] of steps.entries()) {
    const said = answers[index];
    const reasons = [
      difference(expected, said?.answer, "answer"),
      difference(facts, said?.facts, "tables"),
      difference(Object.keys(facts).sort(), Object.keys(said?.facts ?? {}).sort(), "runs"),
      ...(said?.violations ?? ["nothing was answered"]),
    ].filter((reason) => reason !== undefined);
    if (reasons.length > 0) return { index, reasons };
  }
  return undefined;
}

function outcomesOf(step: Step | undefined, answer: unknown): string[] {
  const { fn = "" } = step ?? {};
  if (typeof answer !== "object" || answer === null) return [fn];
  const { turns, outcome, sqlState } = answer as {
    turns?: { outcome?: string }[];
    outcome?: string;
    sqlState?: string;
  };
  return turns === undefined
    ? [`${fn}: ${outcome ?? sqlState ?? "done"}`]
    : turns.map((turn) => `${fn}: ${turn.outcome}`);
}
