/** What has gone wrong in the world until now: it says what the rules may ask for. */
import type { Faults } from "./faults.ts";
import type { Fleet } from "./fleet.ts";
import type { Outside } from "./outside/outside.ts";
import type { Passage } from "./passage.ts";
import type { Scenario } from "./scenario.ts";
import type { ServerClock } from "./server-clock.ts";

export interface TroubleSources {
  readonly scenario: Scenario;
  readonly faults: Faults;
  readonly fleet: Fleet;
  readonly passage: Passage;
  readonly outside: Outside;
  readonly clock: ServerClock;
  /** The instant at which the world began. */
  readonly beginning: number;
}

/** How many ticks of a host may be under way that dispatch the same run, or have been refused while it is due soon anyway. */
const mostTicks = 3;

export class TroubleSoFar {
  readonly #sources: TroubleSources;

  constructor(sources: TroubleSources) {
    this.#sources = sources;
  }

  /** Whether nothing has gone wrong, and nobody was replaced. */
  get isNone(): boolean {
    const { fleet, scenario } = this.#sources;
    return this.#faults === 0 && !this.areLeasesCut && fleet.deaths === 0 && scenario.deployments.length === 1;
  }

  /** Whether a lease may end before its time: by a clock, or a takeover. */
  get areLeasesCut(): boolean {
    const { clock, scenario } = this.#sources;
    return clock.steppedMs > 0 || scenario.platform === "embedded";
  }

  /** When the last fault was over; the world's time. */
  get calmAt(): number {
    const { passage, fleet, clock, outside, beginning } = this.#sources;
    const refusedAt = (outside.refusedAt ?? beginning) - beginning;
    return Math.max(passage.troubledAt, fleet.changedAt, clock.steppedAt, refusedAt);
  }

  /**
   * How many dispatches the database may have counted that the platform was not asked for, or has refused: one for each
   * fault and each death, and those of ticks that are under way.
   */
  get uncounted(): number {
    const { fleet, scenario } = this.#sources;
    const hosts = scenario.platform === "mixed" ? 2 : 1;
    const deployments = scenario.deployments.length + 2 * scenario.releases.length;
    return mostTicks * hosts + this.#faults + fleet.deaths + deployments;
  }

  /** How many calls have met a fate that is a fault. */
  get #faults(): number {
    const { "is held": _, ...faults } = this.#sources.faults.met;
    return Object.values(faults).reduce((sum, count) => sum + count, 0);
  }
}
