/** What an engine is made of, and its defaults. */
import type { CallbackRef } from "../core/contract/callback.ts";
import { LayoverError } from "../core/errors.ts";
import { defaultEnvironment } from "../core/names.ts";
import type { Dispatch, HostClock, TurnRef } from "../core/ports.ts";
import type { Demand } from "../core/replay/demand.ts";
import type { Calls } from "../postgres/calls.ts";
import type { LayoverEvent, LogEntry, Mistake } from "./events.ts";
import type { Registry } from "./registry.ts";
import type { Telemetry } from "./telemetry.ts";

export interface Deployment {
  /** Name of the host or stack. Deployments of one name replace each other. */
  readonly name: string;
  /** Id of the build. All processes that run this code have the same, and other code has another. */
  readonly id: string;
  /** The address at which other deployments have this one tick (see `ringAt`). Undefined: they cannot. */
  readonly wakeAddress?: string | undefined;
}

export interface EngineOptions {
  readonly calls: Calls;
  readonly dispatch: Dispatch;
  /** The workflows and schedules of this code. A platform makes it once and hands it to each of its engines. */
  readonly registry: Registry;
  /**
   * Name of the environment. A database belongs to one. API keys and callback links that name another environment are
   * refused. Default: "default"; keys and links do not name that one.
   */
  readonly environment?: string | undefined;
  /**
   * The deployment that this engine belongs to. Without it, a run that this code refuses is blocked, even if another
   * deployment could take it.
   */
  readonly deployment?: Deployment | undefined;
  /** Makes the one-time URL of a callback. Without it, `step.createCallback` throws. */
  readonly sealCallback?: ((callback: CallbackRef) => { readonly url: string; readonly token: string }) | undefined;
  /** Gets what handlers log: the events of the kind `handler_logged`. Default: nothing. */
  readonly onLog?: ((entry: LogEntry) => void) | undefined;
  /** Is told of the events of the kind `handler_mistaken`. Default: `onLog` gets them as warnings. */
  readonly onMistake?: ((mistake: Mistake) => void) | undefined;
  /** Is told of a turn of a version that this deployment does not carry: another one that lives beside it may. */
  readonly onElsewhere?: ((turn: TurnRef) => void) | undefined;
  /**
   * Asks another deployment for a tick, by its `wakeAddress`. That tick also looks at what is ready and due by `readyUntil`, an
   * instant of the database's clock. Rejects unless that tick has ended well. Default: nobody rings elsewhere, and what this
   * deployment cannot carry out waits for an alarm of the other one's.
   */
  readonly ringAt?: ((address: string, readyUntil: number) => Promise<void>) | undefined;
  /**
   * Is told everything that happens, for logs and counters: runs that end, steps that fail, leases that are lost, what
   * handlers log, errors.
   */
  readonly onEvent?: ((event: LayoverEvent) => void) | undefined;
  /** Is told of the events that are errors, such as a lost call or a broken connection. No run is lost by them. */
  readonly onError?: ((error: unknown, doing: string) => void) | undefined;
  /** Watches turns and attempts, for traces and metrics: `telemetry()` of `layover/telemetry`. Default: nothing does. */
  readonly telemetry?: Telemetry | undefined;
  /** How many steps one invocation carries out of each run, and how long it goes on beginning new ones. */
  readonly invocation?: { readonly maxSteps?: number; readonly budgetMs?: number } | undefined;
  /**
   * How long a claim is valid, in milliseconds, from 1,000 to a day. After that somebody else may claim the turn. It is
   * renewed while a body runs. Default: 60 s.
   */
  readonly leaseMs?: number | undefined;
  /**
   * The longest timeout that a step may have, in milliseconds: the host ends an invocation that takes longer. A step with
   * a longer one fails before it begins. Default: no limit.
   */
  readonly longestStepMs?: number | undefined;
  /**
   * Tells whether this invocation has time for a step with such a timeout, in milliseconds. If not, its turn is left to another
   * one, which the run's alarm begins. Default: it has.
   */
  readonly hasTimeFor?: ((timeoutMs: number) => boolean) | undefined;
  /**
   * How long an invocation sends results that the database did not take, counted from the beginning of the invocation.
   * After that their leases run out, and the steps are carried out again. Default: for ever.
   */
  readonly resendMs?: number | undefined;
  /** How many runs may be kept in memory, at rest, to go on without a replay. 0: none. Default 1,000. */
  readonly warmRuns?: number | undefined;
  /** How many bytes of history the runs in memory may have together. Default 64 MiB. */
  readonly warmBytes?: number | undefined;
  /** The most bytes that one claim answers, roughly. A larger history is read in pages of that size. Default: 32 MiB. */
  readonly claimBytes?: number | undefined;
  /**
   * How many bytes of history the runs at work may have together before no further one is claimed. An invocation then
   * waits for others, so set it only on hosts where an invocation may wait. Default: no limit.
   */
  readonly workBytes?: number | undefined;
  /** How long a run is kept after its end. Default 30 days, failed 90. */
  readonly keepMs?: number | undefined;
  readonly keepFailedMs?: number | undefined;
  /** The platform's id of this invocation, for its logs. */
  readonly requestId?: (() => string | undefined) | undefined;
  readonly host?: HostClock | undefined;
  /**
   * The host's time of day, in epoch milliseconds. Nothing is computed from it. If it is more than an hour apart from the
   * database's, one of the two is wrong, and schedules are not fired. Left out: it is not compared.
   */
  readonly timeOfDay?: (() => number) | undefined;
  /** Resolves when microtasks are drained and one macrotask has passed. Default `setImmediate`. */
  readonly atRest?: (() => Promise<void>) | undefined;
  /** Is told of each demand of a handler where the handler asks for it, also in a replay. For tools. */
  readonly onDemand?: ((demand: Demand, run: { readonly runId: string; readonly epoch: number }) => void) | undefined;
  /** Draws a number in [0, 1), for jitter. */
  readonly random?: (() => number) | undefined;
  /** Makes leases; a fresh uuid at each call. */
  readonly newToken?: (() => string) | undefined;
}

export const defaults = {
  environment: defaultEnvironment,
  leaseMs: 60_000,
  stepTimeoutMs: 60_000,
  maxSteps: 1,
  budgetMs: 10_000,
  warmRuns: 1_000,
  warmBytes: 64 * 1024 * 1024,
  claimBytes: 32 * 1024 * 1024,
  keepMs: 30 * 86_400_000,
  keepFailedMs: 90 * 86_400_000,
  /** How many times a turn may begin alone and not be finished. After that, its step fails without being run. */
  maxBeginnings: 5,
  /**
   * How many times a turn may be claimed alone and not be finished. After that, the run is set back. There are more of
   * them than beginnings, since the answer of a claim may be lost.
   */
  maxClaims: 50,
  /** How long a handler that asks for nothing may await something of its own. */
  patienceMs: 1_000,
} as const;

/** @throws LayoverError `invalid_duration` */
export function checkLeaseMs(leaseMs: number = defaults.leaseMs): number {
  if (Number.isInteger(leaseMs) && leaseMs >= 1_000 && leaseMs <= 86_400_000) return leaseMs;
  throw new LayoverError("invalid_duration", `leaseMs: ${String(leaseMs)} is no length of a lease`, {
    hint: "Give whole milliseconds, from 1,000 to 86,400,000 (a day).",
    details: { field: "leaseMs" },
  });
}
