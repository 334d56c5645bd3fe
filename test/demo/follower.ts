/** Follows a run from outside, by the API alone: tells each record of its history once, as it comes. */
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import type { DevServer } from "../platform/dev-server.ts";
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
  readonly #runId: string;
  #told = 0;

  constructor(screen: Screen, runId: string) {
    this.#screen = screen;
    this.#runId = runId;
  }

  /** Looks again and again, and tells what is new, until it looks as it should. */
  async until(server: DevServer, what: string, isSo: (look: Look) => boolean, withinMs = 15_000): Promise<Look> {
    const givenUpAt = Date.now() + withinMs;
    for (;;) {
      const look = await this.look(server);
      this.#tell(look);
      if (isSo(look)) return look;
      if (Date.now() > givenUpAt) throw new Error(`${what}: not so after ${withinMs / 1_000} s, but ${look.status}`);
      await delay(100);
    }
  }

  async look(server: DevServer): Promise<Look> {
    const run = await server.api("GET", `/v1/runs/${this.#runId}`);
    const history = await server.api("GET", `/v1/runs/${this.#runId}/history`);
    return { ...History.parse(history.body), ...Run.parse(run.body) };
  }

  #tell({ records, createdAt }: Look): void {
    for (const [index, record] of records.entries()) {
      if (record.position <= this.#told) continue;
      this.#told = record.position;
      const beganAt = record.beganAt ?? records[index - 1]?.recordedAt ?? createdAt;
      const took = `${((record.recordedAt - beganAt) / 1_000).toFixed(2)} s`;
      const value = record.value === undefined ? "" : JSON.stringify(record.value);
      this.#screen.say("ok", `${record.path.padEnd(18)} ${took.padStart(7)}   ${paint("dim", value)}`.trimEnd());
    }
  }
}
