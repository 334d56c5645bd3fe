/**
 * layover in one process, without HTTP: turns are dispatched in memory, alarms are timers. Whatever is lost with the
 * process, the tick with which the next one begins finds again in the database.
 *
 *   const { client, close } = await startInProcess({ workflows: [orderWorkflow], database: pg(pool) });
 *
 * A handler's promise that nobody awaits may reject, and Node ends a process over that. No library should decide otherwise
 * for its host, so nothing here does: whoever owns the process does (functions/node.ts, src/cli/dev.ts).
 */
import { Client } from "../client/client.ts";
import { translated } from "../client/failure.ts";
import type { Workflow } from "../core/contract.ts";
import { LayoverError } from "../core/errors.ts";
import { checkNamespace } from "../core/names.ts";
import type { Query } from "../core/ports.ts";
import { Engine } from "../engine/engine.ts";
import { guardHooks } from "../engine/hooks.ts";
import type { EngineOptions } from "../engine/options.ts";
import { callbackOpener, callbackSealer } from "../http/callback-token.ts";
import type { Secrets } from "../http/secrets.ts";
import { Calls } from "../postgres/calls.ts";
import { InProcessDispatch } from "./in-process-dispatch.ts";
import { Ticker } from "./ticker.ts";
import { TimerAlarm } from "./timer-alarm.ts";

/**
 * A process that stays carries a run on from step to step, each recorded and the next claimed by one statement: nothing
 * ends its invocations early, and a hop takes one round trip instead of two (0.4 ms instead of 0.7, WAL 520 B a step
 * instead of 780; `npm run bench -- --only a,b`).
 */
const resident = { maxSteps: 100, budgetMs: 1_000 };

/** How long `close` waits for a database that takes no results. */
const graceMs = 10_000;

type Settings = Pick<
  EngineOptions,
  | "environment"
  | "invocation"
  | "leaseMs"
  | "warmRuns"
  | "warmBytes"
  | "claimBytes"
  | "keepMs"
  | "keepFailedMs"
  | "onLog"
  | "onError"
>;

export interface InProcessOptions extends Settings {
  readonly workflows: readonly Workflow[];
  readonly database: Query;
  /** Runs of other namespaces in the same database are none of ours. Default: "default". */
  readonly namespace?: string | undefined;
  /** Where callbacks are answered, with the prefix of the app. Without it and `secrets`, `createCallback` throws. */
  readonly publicUrl?: string | undefined;
  readonly secrets?: Secrets | undefined;
  /**
   * How many invocations may be under way that began within the last second. Default: 64. Slow bodies do not count, so they
   * keep no other run from beginning. Of all bodies together 1,000 at most are under way, however many runs are ready.
   */
  readonly concurrency?: number | undefined;
  /** How many turns one invocation takes at most of what is ready together. Default: 100. */
  readonly batch?: number | undefined;
  /** Whether nobody else uses this database, as with an embedded one: then whoever holds a lease is dead. */
  readonly isExclusive?: boolean | undefined;
}

export interface InProcess {
  readonly client: Client;
  readonly engine: Engine;
  readonly calls: Calls;
  readonly dispatch: InProcessDispatch;
  /**
   * Begins nothing more; resolves when the steps under way have ended and are recorded. Results that the database does not
   * take within 10 s are given up.
   */
  close(): Promise<void>;
}

/**
 * Begins to carry out what is ready. A database that cannot be reached is tried again every minute.
 *
 * @throws LayoverError `duplicate_workflow`; `invalid_name` for the namespace; `internal` if layover is not installed in the database
 */
export async function startInProcess(given: InProcessOptions): Promise<InProcess> {
  const options = guardHooks(given);
  const { workflows, database, publicUrl, secrets, concurrency = 64, batch = 100 } = options;
  const namespace = checkNamespace(options.namespace ?? "default");
  const { isExclusive = false } = options;
  const onError = options.onError ?? (() => {});
  const alarm = new TimerAlarm(() => ticker.ring());
  const calls = new Calls({ query: database, namespace, alarm: alarm.arm });
  if (isExclusive) await translated(() => calls.voidLeases());
  const dispatch = new InProcessDispatch({
    carryOut: (turns, onEnd) => engine.carryOut(turns, onEnd),
    concurrency,
    batch,
  });
  const canSeal = secrets !== undefined && publicUrl !== undefined;
  const sealCallback = canSeal ? callbackSealer({ secrets, namespace, publicUrl }) : undefined;
  const openCallback = secrets && callbackOpener({ secrets, namespace });
  const { invocation = resident } = options;
  const engine = new Engine({ ...options, invocation, calls, dispatch: dispatch.dispatch, workflows, sealCallback });
  const ticker = new Ticker({
    tick: (which) => engine.tick({ ...which, isExclusive }),
    isArmed: () => calls.clock.isKnown,
    onError,
  });
  const client = new Client({
    calls,
    dispatch: dispatch.dispatch,
    wake: async () => void (await ticker.tick()),
    openCallback,
    onError: (error) => onError(error, "dispatching"),
  });
  const close = async (): Promise<void> => {
    engine.close();
    await ticker.close();
    // A database that takes no results may be away for hours; nobody who ends a process waits for that.
    const timer = setTimeout(() => engine.abandon(), graceMs);
    await dispatch.close();
    clearTimeout(timer);
    alarm.close();
  };
  try {
    await translated(() => ticker.tick());
  } catch (error) {
    if (!(error instanceof LayoverError) || error.code !== "database_unavailable") {
      await close();
      throw error;
    }
    onError(error, "beginning");
  }
  return { client, engine, calls, dispatch, close };
}
