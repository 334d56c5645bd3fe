import type { TurnedClock } from "./turned-clock.ts";
import type { Build } from "./workflows.ts";

/** A host that a test begins, kills and reads: a Worker, the functions of AWS, or a process of Node. */
export interface OneHost {
  /** The address of its API. */
  readonly url: string;
  /** Has the deployment note itself, as its first tick does. */
  deployed(): Promise<void>;
  /** Kills what it has at work, as if its machines were lost. */
  die(): void;
  /** Lets it begin anew. */
  revive(): Promise<void>;
  /** Puts this build beside the one that is there, until the next release: each takes each second request. */
  share(build: Build): Promise<void>;
  /** Puts this build in the place of the one that is there, or of the two. */
  release(build: Build): Promise<void>;
  /** Whether it is known to be at work. */
  isAtWork(): boolean;
  /** All lines of its log. */
  output(): string;
}

export type CallFate = "passes" | "dies before" | "dies after";

/** A host to be begun. It may die at a call of the database, and at any other request that it makes. */
export interface Mortal {
  readonly databaseUrl: string;
  /** Turns the host's clock, too. Alarms that are due then ring. */
  readonly clock: TurnedClock;
  /** Asked at each call and request. */
  readonly fateOf: () => CallFate;
  /** Kills the host. */
  readonly die: () => void;
}
