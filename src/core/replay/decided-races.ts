/** The races that were decided. What their losers asked for is dropped, though a record of it may still come. */
import { type Demand, placeName } from "./demand.ts";
import type { OpenChild } from "./failing.ts";

/** The prefix of the branches' paths, and the position that decided. */
export interface Release {
  readonly prefix: string;
  readonly position: number;
}

export class DecidedRaces {
  readonly releases: Release[] = [];
  /** The position after which each loser was asked for, by its place. */
  readonly losers = new Map<string, number>();
  /** The losers that are runs. */
  readonly children: OpenChild[] = [];

  has(path: string): boolean {
    return this.releases.some(({ prefix }) => path.startsWith(prefix));
  }

  /** Notes a decision. What is pending below the prefix has lost. */
  add(release: Release, pending: Map<string, Demand>): void {
    this.releases.push(release);
    for (const demand of pending.values()) {
      if (!demand.path.startsWith(release.prefix)) continue;
      pending.delete(placeName(demand));
      this.losers.set(placeName(demand), demand.demandedAfter);
      const { wanted } = demand;
      if (wanted.kind === "child") this.children.push({ runId: wanted.runId(undefined), leftAt: release.position });
    }
  }
}
