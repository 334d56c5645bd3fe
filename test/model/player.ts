/** Plays sequences on Postgres, each in a transaction of its own that is undone, and tells the first surprise. */
import { readFileSync } from "node:fs";
import type { Client } from "pg";
import { make, seesTables } from "./game.ts";
import { stagesOf } from "./make-clockwork.ts";
import { difference } from "./match.ts";
import { Script, type Step } from "./script.ts";
import type { Wish } from "./wishes.ts";

export const playSql = readFileSync(new URL("play.sql", import.meta.url), "utf8");

export interface Played {
  /** As far as it was played; the last one is the one that went otherwise than expected, where that happened. */
  readonly steps: readonly Step[];
  readonly surprises: readonly string[];
  /** What the functions answered: `claim_turns: busy`. */
  readonly outcomes: readonly string[];
}

interface RunFacts {
  readonly dueAt: number | null;
}
interface StepAnswer {
  readonly answer: unknown;
  /** Null where nobody looked. */
  readonly facts: Readonly<Record<string, RunFacts>> | null;
  readonly violations: readonly string[] | null;
}

interface PlayOptions {
  readonly looksAlways?: boolean;
  readonly atEnd?: () => Promise<void>;
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

  /**
   * Looks into the tables after those steps that should have changed something: what another one changed is found
   * then. `looksAlways` tells at which step it happened. `atEnd` is called after the last step, before all is undone.
   */
  async play(wishes: readonly Wish[], { looksAlways = false, atEnd }: PlayOptions = {}): Promise<Played> {
    this.#played += 1;
    const number = this.#played.toString(16).padStart(8, "0");
    const side = this.#name.charCodeAt(0).toString(16).padStart(4, "0");
    const ids = [1, 2, 3].map((run) => `${number}-${side}-7000-8000-00000000000${run}`);
    const script = new Script(`${this.#name}${number}`, ids);
    await this.#client.query("begin");
    try {
      const outcomes: string[] = [];
      let sent = 0;
      const stages = wishes.flatMap((wish) => (wish.kind === "tick" ? stagesOf(wish) : [wish]));
      for (let place = 0; place <= stages.length; place += 1) {
        const wish = stages[place];
        if ((wish === undefined || seesTables(wish)) && sent < script.steps.length) {
          const steps = script.steps.slice(sent);
          const answers = await this.#send(ids, steps, looksAlways);
          outcomes.push(...answers.flatMap(({ answer }, index) => outcomesOf(steps[index], answer)));
          const found = firstSurprise(steps, answers);
          if (found !== undefined)
            return { steps: script.steps.slice(0, sent + found.index + 1), surprises: found.surprises, outcomes };
          sent = script.steps.length;
          for (const run of script.world.runs) run.dueAt = answers.at(-1)?.facts?.[run.id]?.dueAt ?? undefined;
        }
        if (wish !== undefined) make(script, wish);
      }
      await atEnd?.();
      return { steps: script.steps, surprises: [], outcomes };
    } finally {
      await this.#client.query("rollback");
    }
  }

  async #send(runs: readonly string[], steps: readonly Step[], looksAlways: boolean): Promise<readonly StepAnswer[]> {
    let known = "";
    const sent = steps.map(({ now, fn, p, number, lateUntil, facts }, index) => {
      const text = JSON.stringify(facts);
      const looks = looksAlways || index === steps.length - 1 || text !== known;
      known = text;
      return { now, fn, p, number, lateUntil, looks };
    });
    const { rows } = await this.#client.query({
      name: "play",
      text: "select layover_test.play($1) as answers",
      values: [JSON.stringify({ runs, steps: sent })],
    });
    return rows[0]?.answers ?? [];
  }
}

function firstSurprise(steps: readonly Step[], answers: readonly StepAnswer[]) {
  for (const [index, step] of steps.entries()) {
    const said = answers[index];
    if (said === undefined) return { index, surprises: ["nothing was answered"] };
    const surprises = [
      difference(step.expected, said.answer, "answer"),
      ...(said.facts === null ? [] : tableSurprises(step, said.facts)),
      ...(said.violations ?? []),
    ].filter((reason) => reason !== undefined);
    if (surprises.length > 0) return { index, surprises };
  }
  return undefined;
}

function tableSurprises({ facts, armed }: Step, found: NonNullable<StepAnswer["facts"]>): (string | undefined)[] {
  const unarmed = Object.values(found).find(({ dueAt }) => dueAt !== null && !armed.includes(dueAt));
  return [
    difference(facts, found, "tables"),
    difference(Object.keys(facts).sort(), Object.keys(found).sort(), "runs"),
    unarmed && `due at ${unarmed.dueAt}, for which nothing was armed`,
  ];
}

function outcomesOf(step: Step | undefined, answer: unknown): string[] {
  const { fn = "" } = step ?? {};
  if (typeof answer !== "object" || answer === null) return [fn];
  if ("turns" in answer && Array.isArray(answer.turns)) {
    return answer.turns.map((turn: { outcome?: string }) => `${fn}: ${turn.outcome}`);
  }
  const { outcome, sqlState } = answer as { outcome?: string; sqlState?: string };
  return [`${fn}: ${outcome ?? sqlState ?? "done"}`];
}
