/**
 * What must hold once nothing goes wrong any more: whatever may be claimed is claimed soon, and all of it ends in about the
 * time that it takes without any fault.
 */
import { type Program, partsOf } from "./programs/program.ts";
import type { Scenario } from "./scenario.ts";

/** How long a transaction may stay open that starts a run: its motion minute counts from there. */
const commitMs = 30_000;

interface Terms extends Pick<Scenario, "platform" | "chances" | "clockSteps"> {
  /** Somebody outside did not learn what became of their call, or a dead process' call gave a lease late. */
  readonly isHintLost: boolean;
}

/**
 * How long a run may wait that could be claimed. Where processes live on (`node`, `embedded`) they look again within
 * seconds, and a minute is the promise, with a second for that look to take effect. Where nothing lives between invocations, only the motion minute finds what a lost
 * dispatch has left: up to two minutes ahead, armed so that it rings within two more; the platform may be late by another
 * two. What was dispatched and not claimed is looked at after 1, 2, 4 … minutes. So is everywhere what a pooler claims in
 * the name of somebody who is gone, what somebody made ready who never learned of it, and what is leased by a COMMIT that
 * comes after the holder's successor has looked.
 */
export function longestWaitMs({ platform, chances, clockSteps, isHintLost }: Terms, dispatches: number): number {
  const livesOn = platform === "node" || platform === "embedded";
  // A dispatch for an instant comes too early once the clock was set back, and so does the tick that follows a step of the
  // clock, where a transaction commits after it. Then the motion minute finds the run, as much later as the clock was set back.
  const setBackMs = clockSteps.reduce((sum, { byMs }) => sum + Math.max(0, -byMs), 0);
  const isKnown = !isHintLost && chances["comes late"] + chances["comes twice"] === 0;
  if (livesOn && isKnown) return setBackMs > 0 ? 121_000 + Math.max(commitMs, setBackMs) : 61_000;
  const ringsMs = platform === "mixed" ? longestRingMs : 0;
  return 6 * 60_000 + ringsMs + 60_000 * 2 ** dispatches;
}

/** How long after a ring in vain a host rings again at another one that has the code. See `ringAgainMs` of src/core/waking.ts. */
const longestRingMs = 10 * 60_000;

/** How long a scenario took. */
export interface Drain {
  /** When the last fault was over, and when the last run moved, in the world's time. */
  readonly calmAt: number;
  readonly movedAt: number;
  readonly isHintLost: boolean;
}

/** What the slowest chain of waits after the last fault takes, beside the work itself: see {@link drainObjection}. */
const leaseMs = 60_000;
const times = 3;

/** What a program may do so that faults decide nothing of what it waits for. */
const steady = new Set([
  "step",
  "undo",
  "sleep",
  "start",
  "sequence",
  "all",
  "map",
  "caught",
  "finally",
  "cleanup",
  "loop",
  "scope",
  "plain",
]);

/**
 * Whether the same programs do the same whatever goes wrong, so that their times can be compared. A start that may be
 * rolled back is drawn again in each play. A pause takes its time, and so does a step that is left to
 * another invocation.
 */
export function isSteady({ runs, shortIn }: Pick<Scenario, "runs" | "shortIn">): boolean {
  if (shortIn !== undefined) return false;
  return runs.every(({ program, by, acts }) => by !== "rollback" && acts.length === 0 && isSteadyProgram(program));
}

function isSteadyProgram(program: Program): boolean {
  return partsOf(program).every(({ kind }) => steady.has(kind));
}

/**
 * Why a scenario took too long to end. It may take three times as long as without faults, since what lost leases goes in
 * small groups, one after the other. And a constant: a lease that was live when its holder died, and the longest wait for
 * whoever looks next; both once more for what died with the looker.
 */
export function drainObjection(
  faulty: Drain,
  calm: Drain,
  scenario: Pick<Scenario, "platform" | "chances" | "clockSteps">,
): string | undefined {
  const tookMs = faulty.movedAt - faulty.calmAt;
  const mayTakeMs =
    times * calm.movedAt + 2 * (leaseMs + longestWaitMs({ ...scenario, isHintLost: faulty.isHintLost }, 0));
  if (tookMs <= mayTakeMs) return undefined;
  return `it took ${tookMs / 1_000} s to end after the last fault, and ${calm.movedAt / 1_000} s in all without any`;
}
