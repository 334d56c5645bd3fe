/** What a process is made of that carries out runs, and what its owner gets of it. */
import type { Client } from "../../../client/over-postgres/client.ts";
import type { Workflow } from "../../../core/contract/contract.ts";
import type { Schedule } from "../../../core/contract/schedule.ts";
import type { Duration } from "../../../core/duration.ts";
import type { Query } from "../../../core/ports.ts";
import type { Engine } from "../../../engine/engine.ts";
import type { EngineOptions } from "../../../engine/options.ts";
import type { Secrets } from "../../../http/secrets.ts";
import type { Calls } from "../../../postgres/calls.ts";
import type { InProcessDispatch } from "./in-process-dispatch.ts";

type Settings = Pick<
  EngineOptions,
  | "environment"
  | "invocation"
  | "leaseMs"
  | "warmRuns"
  | "warmBytes"
  | "claimBytes"
  | "workBytes"
  | "keepMs"
  | "keepFailedMs"
  | "onLog"
  | "onError"
  | "onEvent"
  | "telemetry"
>;

export interface InProcessOptions extends Settings {
  readonly workflows: readonly Workflow[];
  /** The schedules that it declares: `schedule(…)`. They are registered by the first tick of a new build. Default: none. */
  readonly schedules?: readonly Schedule[] | undefined;
  readonly database: Query;
  /** Which runs of the database are this process's: those of this namespace. Default: "default". */
  readonly namespace?: string | undefined;
  /**
   * Id of the build, such as a commit's id. All processes that run this build give the same. Default:
   * `LAYOVER_DEPLOYMENT` of the environment, else a digest of the workflows' handlers, which does not cover code that
   * they import.
   */
  readonly deployment?: string | undefined;
  /** Name of this host among those that share the database. Its deployments replace each other. Default: "node". */
  readonly deploymentName?: string | undefined;
  /**
   * The address at which callbacks are answered, with the prefix of the app. Without it and `secrets`, `createCallback`
   * throws.
   */
  readonly publicUrl?: string | undefined;
  readonly secrets?: Secrets | undefined;
  /**
   * The address at which deployments on other hosts ring, if they share this database: the app's, with its prefix. It needs
   * `secrets`. Default: they do not.
   */
  readonly wakeAddress?: string | undefined;
  /**
   * How many invocations may be under way that began within the last second. Default: 64. An invocation with slow
   * bodies stops counting after a second, so it keeps no other run from beginning. At most 1,000 bodies are under way
   * together, however many runs are ready.
   */
  readonly concurrency?: number | undefined;
  /** How many turns one invocation takes at most of what is ready together. Default: 100. */
  readonly batch?: number | undefined;
  /** Whether nobody else uses this database, as with an embedded one. Then each lease is of a process that is dead. */
  readonly isExclusive?: boolean | undefined;
}

export interface InProcess {
  readonly client: Client;
  readonly engine: Engine;
  readonly calls: Calls;
  readonly dispatch: InProcessDispatch;
  /** Whether {@link close} was called. */
  readonly isClosing: boolean;
  /**
   * Ends this process's work: nothing more begins. Resolves when the steps under way have ended and are recorded. A
   * step that takes longer than the grace has its `abortSignal` fired and its lease given back, so that the next
   * process begins it again at once.
   */
  close(options?: CloseOptions): Promise<void>;
}

export interface CloseOptions {
  /** How long steps under way may go on. Default: 10 seconds. */
  readonly grace?: Duration | undefined;
}
