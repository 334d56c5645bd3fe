/** Has an app judge runs by its own code. It loads nothing of that: `layover/replay-check` brings the routes. */
import type { Workflow } from "../../core/contract/contract.ts";
import type { Schedule } from "../../core/contract/schedule.ts";
import type { Route } from "../route.ts";

/** Which code has judged: the name of its host, and the id of the build. */
export interface Build {
  readonly name: string;
  readonly id: string;
}

/** The code that a deployment carries. */
export interface Carried {
  readonly workflows: readonly Workflow[];
  readonly schedules?: readonly Schedule[] | undefined;
  /** The build that answers: the name of its host, and its id. */
  readonly deployment: Build;
  /** The time by the host's clock, in epoch milliseconds. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** Makes the routes: `replayCheck()` of `layover/replay-check`. */
export type MountReplayCheck = (carried: Carried) => readonly Route[];
