/** What a played scenario has come to. */
import type { Fate } from "./faults.ts";
import type { Drain } from "./recovery.ts";

export interface Report {
  /** What is wrong; the world was left at the first of it. */
  readonly wrongs: readonly string[];
  readonly events: number;
  readonly statements: number;
  /** Statements that waited for a lock. */
  readonly waits: number;
  readonly faults: Readonly<Record<Exclude<Fate, "passes">, number>>;
  readonly deaths: number;
  /** How long it took in the world, in milliseconds. */
  readonly time: number;
  readonly drain: Drain;
}
