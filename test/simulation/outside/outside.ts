/** What stands outside of every process: what was dispatched, and the alarms. Each platform has rules of its own. */
import type { Alarm, Dispatch } from "../../../src/core/ports.ts";
import type { Source } from "../../engine/course.ts";
import type { StandingAlarm } from "../../engine/platform.ts";
import type { Process } from "../../engine/process.ts";

export interface Outside extends Source {
  readonly dispatch: Dispatch;
  readonly alarm: Alarm;
  /** The alarm rings at a pace of its own, whatever is armed. */
  readonly isBeat: boolean;
  /** The alarms that W may count on. */
  standing(): readonly StandingAlarm[];
  /** A process died: what becomes of what it was about. */
  lose(process: Process): void;
}

/** What the rules need of the world. Times are epoch milliseconds. */
export interface Ground {
  readonly now: () => number;
  /** The world's time of an instant. */
  readonly timeOf: (at: number) => number;
  readonly below: (bound: number) => number;
  /** The processes that may take something now. */
  readonly processes: () => readonly Process[];
  /** One pass of the scheduler, by this process. */
  readonly tick: (process: Process) => Promise<unknown>;
  /** The earliest instant at which a scheduler would find anything. */
  readonly dueAt: () => number | undefined;
}
