/** Somebody who looks after the schedules: pauses one for a while, resumes it, and has it start a run now. */
import { setTimeout as delay } from "node:timers/promises";
import { type HttpClient, LayoverError } from "layover/client";
import { v7 } from "uuid";
import type { Triggered } from "./schedule-verdict.ts";
import { timetable } from "./timetable.ts";

export interface KeeperOptions {
  /** Asks until there is an answer. */
  readonly ask: <Answer>(what: (client: HttpClient) => Promise<Answer>) => Promise<Answer>;
  /** Draws a random number in [0, 1). */
  readonly random: () => number;
}

/** Some pauses miss an instant: a schedule fires each minute. */
const longestPauseMs = 90_000;
const longestRestMs = 3_000;
const sliceMs = 100;

export class Keeper {
  /** What was asked of schedules beside their calendars. */
  readonly triggers: Triggered[] = [];
  readonly #options: KeeperOptions;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** Goes on until it is enough. Then no schedule is paused. */
  async keep(isEnough: () => boolean): Promise<void> {
    const { ask, random } = this.#options;
    const rest = async (longestMs: number) => {
      for (let ms = random() * longestMs; ms > 0 && !isEnough(); ms -= sliceMs) await delay(sliceMs);
    };
    for (let count = 0; !isEnough(); count += 1) {
      const name = timetable[count % timetable.length]?.name ?? "";
      await rest(longestRestMs);
      if (!(await isThere(() => ask((client) => client.schedules.pause(name))))) continue;
      await rest(random() * longestPauseMs);
      await ask((client) => client.schedules.resume(name));
      await this.#trigger(name);
    }
  }

  async #trigger(name: string): Promise<void> {
    const { ask, random } = this.#options;
    const terms = { runId: v7(), ignoresOverlap: random() < 0.5 };
    const place = this.triggers.push({ ...terms, isDone: false }) - 1;
    try {
      await ask((client) => client.schedules.trigger(name, terms));
      this.triggers[place] = { ...terms, isDone: true };
    } catch (error) {
      if (codeOf(error) !== "schedule_overlap") throw error;
    }
  }
}

/** Answers false if no process has registered the schedule yet. */
async function isThere(ask: () => Promise<unknown>): Promise<boolean> {
  try {
    await ask();
    return true;
  } catch (error) {
    if (codeOf(error) !== "unknown_schedule") throw error;
    return false;
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof LayoverError ? error.code : undefined;
}
