/** What becomes of calls: drawn from the scenario's chances, until its troubles are used up. */
import type { Chance } from "../engine/chance.ts";
import type { Waiting } from "../engine/mortal.ts";

/**
 * - `fails before`, `fails after`: the host is told that the connection broke; before or after the call took effect.
 * - `dies before`, `dies after`: so does the process that made it.
 * - `comes late`: the host is told that the connection broke, or dies; a pooler carries the call out minutes later.
 * - `comes twice`: a copy of it is carried out later.
 * - `is held`: between its execution and its COMMIT others run; then it commits.
 * - `is cut`: held, and then rolled back.
 * - `hangs before`, `hangs after`: it is never answered; it takes no effect, or does. Only a time limit ends it.
 */
export type Fate =
  | "passes"
  | "fails before"
  | "fails after"
  | "dies before"
  | "dies after"
  | "comes late"
  | "comes twice"
  | "is held"
  | "is cut"
  | "hangs before"
  | "hangs after";

/** How many in a thousand calls meet this fate. */
export type Chances = Readonly<Record<Exclude<Fate, "passes">, number>>;

export const fates = [
  "fails before",
  "fails after",
  "dies before",
  "dies after",
  "comes late",
  "comes twice",
  "is held",
  "is cut",
  "hangs before",
  "hangs after",
] as const satisfies readonly (keyof Chances)[];

/** What only a query may meet. */
const ofQueries: ReadonlySet<Fate> = new Set(["comes late", "is held", "is cut"]);
/** What no query to a database in the process itself may meet. */
const notEmbedded: ReadonlySet<Fate> = new Set(["comes late", "is held", "is cut", "hangs before", "hangs after"]);
/** What the end of a step's transaction may not meet, since its session ends itself when it waits for its COMMIT. */
const notHeld: ReadonlySet<Fate> = new Set(["is held", "is cut"]);
/** Fates that calls of a store do not meet: a put that comes late or twice would bring back what was deleted. */
const notOfStores: ReadonlySet<Fate> = new Set(["comes late", "comes twice", "is held", "is cut"]);
/** What a dispatch or an alarm in memory may meet: that its process dies. */
const inProcess: ReadonlySet<Fate> = new Set(["dies before", "dies after"]);

/** What can go wrong with one kind of call alone, and so much more often. */
export const focuses = [
  ...["start_run", "send_signal", "answer_callback", "claim_turns", "finish_turns", "finish_once"],
  ...["renew_leases", "list_due", "move_due", "cancel_run", "upgrade_run", "dispatch", "alarm"],
];
const focusing = 8;

interface Terms {
  readonly focus: string | undefined;
  readonly chances: Chances;
  readonly troubles: number;
  readonly platform: string;
}

export function noneMet(): Record<keyof Chances, number> {
  return {
    "fails before": 0,
    "fails after": 0,
    "dies before": 0,
    "dies after": 0,
    "comes late": 0,
    "comes twice": 0,
    "is held": 0,
    "is cut": 0,
    "hangs before": 0,
    "hangs after": 0,
  };
}

export class Faults {
  readonly met: Record<keyof Chances, number> = noneMet();
  readonly #chances: Chances;
  readonly #chance: Chance;
  #troubles: number;

  readonly #platform: string;
  readonly #focus: string | undefined;

  constructor({ chances, troubles, platform, focus }: Terms, chance: Chance) {
    this.#focus = focus;
    this.#platform = platform;
    this.#chances = chances;
    this.#troubles = troubles;
    this.#chance = chance;
  }

  fateOf({ port, what }: Pick<Waiting, "port" | "what">): Fate {
    if (this.#troubles <= 0) return "passes";
    if (this.#focus !== undefined && this.#focus !== what && this.#focus !== port) return "passes";
    // Few calls go to a store.
    const isFocused = this.#focus !== undefined || port === "store";
    let drawn = this.#chance.below(isFocused ? 1_000 / focusing : 1_000);
    for (const fate of fates) {
      drawn -= this.#chances[fate];
      if (drawn >= 0) continue;
      if (port === "store" && notOfStores.has(fate)) return "passes";
      if (port !== "query" && port !== "store" && (ofQueries.has(fate) || (this.#isInMemory && !inProcess.has(fate))))
        return "passes";
      if (port === "query" && this.#platform === "embedded" && notEmbedded.has(fate)) return "passes";
      if (what === "finish_once" && notHeld.has(fate)) return "passes";
      if (fate !== "is held") this.#troubles -= 1;
      this.met[fate] += 1;
      return fate;
    }
    return "passes";
  }

  /** Whether dispatches and alarms are. */
  get #isInMemory(): boolean {
    return this.#platform === "node" || this.#platform === "embedded";
  }
}
