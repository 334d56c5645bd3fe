/** What may happen next in a world: a call passes its port, a timer fires, an alarm rings, turns are delivered. */
import { QueryError } from "../../src/core/ports.ts";
import { beginningsIn } from "./beginnings.ts";
import type { Chance } from "./chance.ts";
import { earliest, type Source } from "./course.ts";
import type { Fleet } from "./fleet.ts";
import type { Waiting } from "./mortal.ts";
import type { Platform } from "./platform.ts";
import type { Process } from "./process.ts";
import type { WorldNotes } from "./world-notes.ts";
import type { Fate, PortCall } from "./world-options.ts";

/** When each world begins, in epoch milliseconds. */
export const beginning = Date.UTC(2026, 0, 1, 12);
const mostLatencyMs = 40;
/** SQL functions that change nothing. */
const reading = new Set([
  "read_clock",
  "list_due",
  "get_run",
  "list_runs",
  "get_history",
  "read_replay",
  "read_mail",
  "read_callback",
]);

interface HappeningsStage {
  readonly platform: Platform;
  readonly fleet: Fleet;
  readonly notes: WorldNotes;
  readonly chance: Chance;
  /** Answers how many milliseconds have passed since the world began. */
  readonly time: () => number;
  /** Lets time pass. */
  readonly turnTo: (time: number) => Promise<void>;
  /** Decides what becomes of a call. */
  readonly fate: (call: PortCall) => Fate | Promise<Fate>;
  /** Looks whether the wake rule holds. */
  readonly look: () => Promise<void>;
}

export class Happenings {
  readonly #stage: HappeningsStage;
  readonly #counts = { query: 0, dispatch: 0, alarm: 0, store: 0 };

  constructor(stage: HappeningsStage) {
    this.#stage = stage;
  }

  /**
   * Answers what may happen: waiting calls, timers, alarms, dispatches. They come in this order and not in that of
   * their arrival, which hangs on microtasks.
   */
  sources(): readonly Source[] {
    const { platform, fleet, time } = this.#stage;
    return [
      {
        happenings: () =>
          fleet.processes.flatMap((owner) =>
            owner.waiting
              .toSorted(byName)
              .map((call) => ({ what: () => call.what, act: () => this.#letPass(owner, call) })),
          ),
        next: () => undefined,
      },
      {
        happenings: () =>
          fleet.processes
            .filter(({ timers }) => (timers.next ?? Number.POSITIVE_INFINITY) <= time())
            .map(({ timers }) => ({ what: () => "a timer fires", act: () => void timers.fire() })),
        next: () => earliest(fleet.processes.map(({ timers }) => timers.next)),
      },
      {
        happenings: () => [
          ...platform.dueAlarms.map((alarm) => ({
            what: () => "an alarm rings",
            act: () => platform.ring(alarm, fleet.next()),
          })),
          ...platform.dueDeliveries
            .filter((delivery) => fleet.takersOf(delivery).length > 0)
            .map((delivery) => ({ what: () => "turns are delivered", act: () => fleet.deliver(delivery) })),
        ],
        next: () => (platform.next === undefined ? undefined : platform.next - beginning),
      },
    ];
  }

  async #letPass(owner: Process, call: Waiting): Promise<void> {
    const { fleet, notes, chance, time, turnTo, look } = this.#stage;
    owner.waiting = owner.waiting.filter((other) => other !== call);
    const { port, what } = call;
    const passing = { port, what, number: ++this.#counts[port] };
    notes.calls.push(passing);
    for (const { token } of beginningsIn(call)) notes.beginnings.add(token);
    const fate = await this.#stage.fate(passing);
    if (fate === "dies before") return fleet.crash(owner);
    if (fate === "fails before") return call.reject(lost(true));
    // A statement takes time, which the database sees pass before it answers.
    if (port === "query" && fleet.options.isShuffled) await turnTo(time() + chance.below(mostLatencyMs));
    const tell = await call.act();
    if (port === "query" && !reading.has(what)) await look();
    if (fate === "is answered late") await turnTo(time() + lateMs);
    if (fate === "is never answered") return;
    if (fate === "dies after") return fleet.crash(owner);
    if (fate === "fails after") return call.reject(lost(false));
    tell();
  }
}

/** A call is given up after 15 s. */
const lateMs = 14_000;

function byName(one: Waiting, other: Waiting): number {
  const [a, b] = [`${one.port} ${one.what}`, `${other.port} ${other.what}`];
  return a < b ? -1 : a > b ? 1 : 0;
}

function lost(isRolledBack: boolean): QueryError {
  return new QueryError("the connection broke", { isRolledBack });
}
