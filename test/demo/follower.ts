/** Follows a run from outside, by the API alone: tells each record of its history once, as it comes. */
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import type { Host } from "./host.ts";
import { paint, type Screen } from "./screen.ts";

const Instant = z.coerce.date().transform((date) => date.getTime());

const History = z.object({
  records: z.array(
    z.object({
      position: z.number(),
      kind: z.string(),
      path: z.string(),
      beganAt: Instant.optional(),
      recordedAt: Instant,
      value: z.unknown().optional(),
    }),
  ),
  pending: z.array(z.object({ kind: z.string(), path: z.string(), until: Instant.optional() })),
});
const Run = z.object({ status: z.string(), createdAt: Instant, endedAt: Instant.optional() });

export type Look = z.infer<typeof History> & z.infer<typeof Run>;

export class Follower {
  readonly #screen: Screen;
  readonly #host: Host;
  readonly runId: string;
  #told = 0;

  constructor(screen: Screen, host: Host, runId: string) {
    this.#screen = screen;
    this.#host = host;
    this.runId = runId;
  }

  /** Looks again and again, and tells what is new, until it looks as it should. */
  async until(what: string, isSo: (look: Look) => boolean, withinMs = 15_000): Promise<Look> {
    const givenUpAt = Date.now() + withinMs;
    for (;;) {
      const look = await this.look();
      this.#tell(look);
      if (isSo(look)) return look;
      if (Date.now() > givenUpAt) throw new Error(`${what}: not so after ${withinMs / 1_000} s, but ${look.status}`);
      await delay(100);
    }
  }

  /** Its instants are on the clock of this machine. */
  async look(): Promise<Look> {
    const run = Run.parse((await this.#host.api("GET", `/v1/runs/${this.runId}`)).body);
    const history = History.parse((await this.#host.api("GET", `/v1/runs/${this.runId}/history`)).body);
    const wallTime = (at: number) => this.#host.wallTime(at);
    const records = history.records.map(({ beganAt, recordedAt, ...record }) => ({
      ...record,
      ...(beganAt !== undefined && { beganAt: wallTime(beganAt) }),
      recordedAt: wallTime(recordedAt),
    }));
    return { ...history, ...run, records, createdAt: wallTime(run.createdAt) };
  }

  #tell({ records, createdAt }: Look): void {
    for (const [index, record] of records.entries()) {
      if (record.position <= this.#told) continue;
      this.#told = record.position;
      const beganAt = record.beganAt ?? records[index - 1]?.recordedAt ?? createdAt;
      const took = `${((record.recordedAt - beganAt) / 1_000).toFixed(2)} s`;
      const value = record.value === undefined ? "" : shortened(JSON.stringify(record.value));
      const name = record.path === "" ? record.kind : record.path;
      this.#screen.say("ok", `${name.padEnd(18)} ${took.padStart(7)}   ${paint("dim", value)}`.trimEnd());
    }
  }
}

function shortened(text: string): string {
  return text.length <= 100 ? text : `${text.slice(0, 100)}…`;
}
