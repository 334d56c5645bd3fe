/** What a world has seen: the calls that came to its ports, what its processes told and reported, and how many died. */
import type { LayoverEvent, LogEntry } from "../../src/engine/events.ts";
import type { PortCall } from "./world-options.ts";

export class WorldNotes {
  /** Every call that came to a port. */
  readonly calls: PortCall[] = [];
  /** What handlers logged. */
  readonly logs: LogEntry[] = [];
  /** What the engine told of its runs. */
  readonly events: LayoverEvent[] = [];
  /** What the engine reported as going wrong. */
  readonly errors: { readonly error: unknown; readonly doing: string }[] = [];
  /** How many invocations were begun. */
  invocations = 0;
  deaths = 0;
  /** The leases of turns that were about to begin alone. */
  readonly beginnings = new Set<string>();

  /** Answers how many calls of this SQL function were made; without a name, of all. */
  statements(name?: string): number {
    return this.calls.filter(({ port, what }) => port === "query" && (name === undefined || what === name)).length;
  }
}

/** Makes the error of something that never comes. It names the last calls. */
export function missing(why: string, { calls }: WorldNotes): Error {
  const last = calls.slice(-20).map(({ port, what, number }) => `${port} ${number}: ${what}`);
  return new Error(`${why}; the last calls:\n${last.join("\n")}`);
}
