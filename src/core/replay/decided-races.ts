/**
 * The races that were decided. What their losers asked for is dropped, though a record of it may still come. So is what a run waits
 * for when it is told to close: of that, only the ends of runs may still come. What a run waits for that closes since its handler has
 * thrown is dropped as the losers of a race are, but nobody is told so: the run may be retried, and waits for it again then.
 */
import { type Demand, placeName } from "./demand.ts";
import type { OpenChild } from "./failing.ts";
import type { HistoryRecord } from "./history.ts";

/** The prefix of the branches' paths, and the position that decided. */
export interface Release {
  readonly prefix: string;
  readonly position: number;
}

interface Close {
  readonly isAfterThrow: boolean;
  readonly isTold: boolean;
}

export class DecidedRaces {
  readonly releases: Release[] = [];
  /** The position after which each loser was asked for, by its place. */
  readonly losers = new Map<string, number>();
  /** Those of the losers that were not told so, by their places: a record that still comes settles them. */
  readonly untold = new Map<string, Demand>();
  /** The runs among the losers. */
  readonly children: OpenChild[] = [];
  /** The places of the runs that were waited for when the run was told to close. */
  readonly #leftRuns = new Set<string>();

  has(path: string): boolean {
    return this.releases.some(({ prefix }) => path.startsWith(prefix));
  }

  /** Whether a record may come at a place for which nobody waits any more. */
  mayRecord(record: Pick<HistoryRecord, "kind" | "path" | "occurrence">): boolean {
    const place = placeName(record);
    return this.losers.has(place) || (record.kind === "child" && this.#leftRuns.has(place));
  }

  /** Drops what is pending, as the run closes. `isTold`: whether the handler is told so. */
  drop(demand: Demand, pending: Map<string, Demand>, { isAfterThrow, isTold }: Close): void {
    const place = placeName(demand);
    pending.delete(place);
    if (!isTold) this.untold.set(place, demand);
    if (isAfterThrow) this.lose(demand, pending);
    else if (demand.wanted.kind === "child") this.#leftRuns.add(place);
  }

  /** Drops what is pending, as a loser. `leftAt`: the position that decided so. Undefined: the run closes since its handler has thrown. */
  lose(demand: Demand, pending: Map<string, Demand>, leftAt?: number): void {
    const place = placeName(demand);
    pending.delete(place);
    this.losers.set(place, demand.demandedAfter);
    const { wanted } = demand;
    if (wanted.kind === "child")
      this.children.push({ runId: wanted.runId(undefined), ...(leftAt !== undefined && { leftAt }) });
  }

  /** Forgets a loser: its record has come. */
  forget(place: string): void {
    this.losers.delete(place);
    this.untold.delete(place);
  }

  /** Forgets all losers: nothing of them is recorded any more. */
  forgetAll(): void {
    this.losers.clear();
    this.untold.clear();
  }

  /** Notes a decision. What is pending below the prefix has lost. */
  add(release: Release, pending: Map<string, Demand>): void {
    this.releases.push(release);
    for (const demand of pending.values()) {
      if (demand.path.startsWith(release.prefix)) this.lose(demand, pending, release.position);
    }
  }
}
