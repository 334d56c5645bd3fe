/** What a platform hands in, so that its invocations carry out turns, tick and answer requests. */
import type { Alarm, Dispatch, TurnRef, WallClock } from "../../core/ports.ts";
import type { Pace } from "../../core/waking.ts";
import type { Report } from "../../engine/events.ts";
import type { Deployment, EngineOptions } from "../../engine/options.ts";
import type { MostOfTick } from "../../engine/scheduler/tick-budget.ts";
import type { Secrets } from "../../http/secrets.ts";
import type { DatabaseClock } from "../../postgres/database-clock.ts";
import type { Database } from "./lazy-database.ts";

type EngineSettings =
  | "atRest"
  | "claimBytes"
  | "hasTimeFor"
  | "keepFailedMs"
  | "keepMs"
  | "leaseMs"
  | "longestStepMs"
  | "newToken"
  | "onEvent"
  | "random"
  | "registry"
  | "telemetry"
  | "timeOfDay"
  | "warmRuns";

export interface InvocationHost {
  /** The options of the engine that are the same in all invocations. */
  readonly engine: Pick<EngineOptions, EngineSettings>;
  readonly namespace: string;
  readonly environment: string;
  readonly deployment: Deployment;
  /** The host's own clock. */
  readonly host: WallClock;
  /** The database's clock, kept from one invocation to the next. An invocation that knows the time need not ask for it. */
  readonly clock: DatabaseClock;
  /** What the database's time probably is while it is not known. Default: nothing is armed before it is known. */
  readonly guess?: (() => number) | undefined;
  readonly secrets: Secrets;
  /** The address at which the world reaches this deployment. Other deployments on its database ring there. */
  readonly publicUrl: string;
  /** Sends requests to other deployments. Default: `fetch`. */
  readonly send?: typeof fetch | undefined;
  /** Opens the database. It is called when the first statement is sent, and after the end of the last opening again. */
  readonly database: () => Database;
  /** How many steps one invocation carries out in all, and how long it goes on beginning new ones. */
  readonly invocation: { readonly maxSteps: number; readonly budgetMs: number };
  /** Undefined: something ticks regularly by itself. */
  readonly alarm: Alarm | undefined;
  /** How exact the alarm and delayed dispatches are. Default: the alarm rings at the beginning of its minute, or sooner. */
  readonly pace?: Pace | undefined;
  /** Makes what dispatches for one invocation. */
  readonly dispatcherOf: (terms: DispatchTerms) => Dispatcher;
  /** Whether this dispatcher may carry out turns in the invocation itself, which then needs its database until the end. */
  readonly isDispatchedHere: boolean;
  /** The most that one tick dispatches. A tick looks for the rest a minute later. Undefined: no limit. */
  readonly mostOfTick?: MostOfTick | undefined;
  readonly report: Report;
  /** Is told that the database has noted the first tick of this deployment. */
  readonly onFirstTick?: (() => void) | undefined;
}

/** Gets turns that are ready to an invocation that carries them out. */
export interface Dispatcher {
  readonly dispatch: Dispatch;
  /** Makes one moment of `work`: what is dispatched meanwhile may go out together when it has ended. */
  together<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Whether the platform has taken everything that was dispatched, as far as it is {@link settled}. */
  readonly isWhole: boolean;
  /** Resolves when nothing is under way any more. */
  settled(): Promise<void>;
}

/** What one invocation gives to its dispatcher. */
export interface DispatchTerms {
  readonly host: WallClock;
  readonly here: LocalWork;
  /** The instant after which nothing is dispatched, in epoch milliseconds of the host's clock. */
  readonly until: () => number;
  /** Is called with turns that the platform has refused or may have lost. */
  readonly onRefused: (turns: readonly TurnRef[]) => void;
  readonly onError: (error: unknown) => void;
}

/** How the invocation that dispatches turns may carry them out itself. Then they wait for no message. */
export interface LocalWork {
  /** Carries out so many steps of each turn. False: it could not. */
  readonly carryOut: (turns: readonly TurnRef[], maxSteps: number) => Promise<boolean>;
  /** How many steps in all. 0: this invocation carries out nothing that it has dispatched. */
  readonly steps: number;
  /** Whether there is time to begin more. */
  readonly isOpen: () => boolean;
}
