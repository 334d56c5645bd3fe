/** What stands outside of every process: what was dispatched, and the alarms. Each platform has rules of its own. */
import type { Code } from "../../../src/platform/cloudflare/alarm/minutes.ts";
import type { Move } from "../../../src/postgres/wire-scheduler.ts";
import type { Source } from "../../engine/course.ts";
import type { StandingAlarm } from "../../engine/platform.ts";
import type { Ports, Process, Within } from "../../engine/process.ts";

export interface Outside extends Source {
  /** How the processes of this platform reach it. */
  readonly ports: (within: Within) => Ports;
  /** Each instant has an alarm of its own; otherwise the next tick arms what follows it. */
  readonly isExact: boolean;
  /** How much later than two minutes after its instant an alarm may ring, where clocks are off. */
  readonly graceMs: number;
  /** When the platform refused something of itself the last time. Undefined: never. */
  readonly refusedAt?: number | undefined;
  /** The alarms that the wake rule may count on. */
  standing(): readonly StandingAlarm[];
  /** A process died: what becomes of what it was about. */
  lose(process: Process): void;
  /** A process was asked to end: it takes nothing any more, and what it arms is to ring elsewhere. */
  end?(process: Process): void;
  /** Another process is to look, after this time, at what one has left that was asked to end. */
  lookAfter?(ms: number): void;
  /** New code was deployed: it is to look at everything once. */
  deployed(): void;
}

/** What the rules need of the world. Times are epoch milliseconds. */
export interface Ground {
  readonly now: () => number;
  /** The world's time of an instant. */
  readonly timeOf: (at: number) => number;
  readonly below: (bound: number) => number;
  /** The processes that may take something now. */
  readonly processes: () => readonly Process[];
  /**
   * One pass of the scheduler, by this process; answers how much was due. `settle`: is told what was moved, waits until
   * all that was dispatched is sent, and answers whether it was taken. Default: it was.
   */
  readonly tick: (process: Process, settle?: (moves: readonly Move[]) => Promise<boolean>) => Promise<number>;
  /** The next tick of this process looks at what others may have missed. */
  readonly looksAhead: (process: Process) => void;
  /** The code of the deployment that came last. */
  readonly code: () => Code;
  /** The earliest instant at which a scheduler would find anything, by the world's clock. */
  readonly dueAt: () => number | undefined;
}
