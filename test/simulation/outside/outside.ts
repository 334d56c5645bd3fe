/** What stands outside of every process: what was dispatched, and the alarms. Each platform has rules of its own. */
import type { Source } from "../../engine/course.ts";
import type { Mortal } from "../../engine/mortal.ts";
import type { StandingAlarm } from "../../engine/platform.ts";
import type { Process, ProcessOptions } from "../../engine/process.ts";
import type { Release } from "../releases.ts";
import type { Refusal } from "../scenario.ts";

/** What a process is, whatever its platform. */
export interface Plan extends Omit<ProcessOptions, "ports"> {
  /** Where the world reaches the deployment. */
  readonly publicUrl?: string | undefined;
  /** The process in whose place it comes. Undefined: it is one more. */
  readonly instead?: Mortal | undefined;
  /** Sends requests to other deployments. Left out: there are none. */
  readonly send?: typeof fetch | undefined;
}

export interface Outside extends Source {
  /** Makes a process of this platform. */
  readonly beget: (plan: Plan) => Mortal;
  /** Each instant has an alarm of its own; otherwise the next tick arms what follows it. */
  readonly isExact: boolean;
  /** How much later than two minutes after its instant an alarm may ring, where clocks are off. */
  readonly graceMs: number;
  /** When the platform refused something of itself the last time, or when the sweep comes that makes up for it. Undefined: never. */
  readonly refusedAt?: number | undefined;
  /** When a ring of one deployment at another failed the last time. Undefined: never. */
  readonly rungInVainAt?: number | undefined;
  /** The alarms that the wake rule may count on. */
  standing(): readonly StandingAlarm[];
  /** How many dispatches of a run the platform has taken. Left out: it takes all of them. */
  taken?(runId: string): number;
  /** Whether some process of each live build carries the version, where hosts are released alone. Left out: all do. */
  carries?(version: number): boolean;
  /** The deployments that tick every six hours though they find nothing. Left out: no other deployment asks for them. */
  sweeping?(): readonly { readonly name: string; readonly id: string }[];
  /** A tick of this process has succeeded, where a host of its own notes that. Left out: the world does. */
  hasTicked?(process: Mortal): void;
  /** A process that takes a request now. The platform makes one if need be. Left out: any process takes it. */
  taker?(): Mortal;
  /** A process died: what becomes of what it was about. */
  lose(process: Mortal): void;
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
  /** Makes one more process of the live deployment, where a platform makes them as they are needed. */
  readonly another: () => Mortal;
  readonly crash: (process: Mortal) => void;
  /** One pass of the scheduler, by this process. */
  readonly tick: (process: Process) => Promise<void>;
  /** A tick of this deployment has succeeded. */
  readonly hasTicked: (deployment: string) => void;
  /** The next tick of this process looks at what others may have missed. */
  readonly looksAhead: (process: Process) => void;
  /** When a queue takes nothing. */
  readonly refusal: Refusal | undefined;
  /** The releases of one host alone that are to come. */
  readonly releases: readonly Release[];
  /** New code has come to one of the hosts, and no tick of it has succeeded yet. */
  readonly released: () => void;
  /** Id of the deployment that came last. */
  readonly deployment: () => string;
  /** The earliest instant at which a scheduler would find anything, by the world's clock. */
  readonly dueAt: () => number | undefined;
}
