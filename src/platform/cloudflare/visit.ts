/**
 * What one request, delivery, or ring of an alarm or the cron trigger works with: an engine, a client and a way to
 * dispatch, all its own. Nothing of it outlives the request (see isolate.ts).
 */
import { Client } from "../../client/over-postgres/client.ts";
import type { TurnRef } from "../../core/ports.ts";
import { pause } from "../../core/waits.ts";
import { Engine } from "../../engine/engine.ts";
import type { Report, Tell } from "../../engine/events.ts";
import { defaults } from "../../engine/options.ts";
import { lookAgain, type TickAnswer } from "../../engine/scheduler/tick.ts";
import { callbackOpener, callbackSealer } from "../../http/callback-token.ts";
import { Calls } from "../../postgres/calls.ts";
import { hostClock } from "../../postgres/host-clock.ts";
import type { Move, NoteCall } from "../../postgres/wire.ts";
import { lazyDatabase } from "../invocation/lazy-database.ts";
import { bindingsOf, costsOf, type Dispatcher } from "./bindings.ts";
import { type Isolate, read } from "./isolate.ts";
import type { CloudflareOptions } from "./options.ts";
import type { Here } from "./queue/queue-dispatch.ts";
import { mostOfTick } from "./requests-to-self.ts";

/**
 * For all turns of a request or a delivery together, so that their statements are few beside the requests that may follow.
 * Ten steps in a row, with a database that answers after 8 ms: 133 ms and 11 statements; one a request, 196 ms and 20.
 * And twelve requests reach ten times as far. After a delivery so many more (see queue-dispatch.ts).
 */
const carrying = { maxSteps: 10, budgetMs: 5_000 };

/**
 * About how many bytes one claim may answer. All requests of an isolate share 128 MB, and for a moment an answer is in
 * memory twice: as text and parsed.
 */
const claimBytes = 8 * 1024 * 1024;

export interface VisitSettings<Env> extends CloudflareOptions<Env> {
  readonly isolate: Isolate;
  readonly namespace: string;
  readonly onEvent: Tell;
  readonly report: Report;
}

export interface VisitOptions {
  /** How many requests to oneself led here. */
  readonly hops?: number;
  /** The instant after which no step is begun and nothing is dispatched, in epoch milliseconds of the host's clock. */
  readonly until: () => number;
  /** How many turns it is asked to carry out. */
  readonly turns?: number;
  /** A queue delivers them: what follows from them may be carried out here, too. */
  readonly isDelivery?: boolean;
  /** Has the runtime wait for what this visit has begun, also beyond its answer. */
  readonly hold?: (sent: Promise<void>) => void;
  readonly requestId?: string | undefined;
}

export interface Visit {
  readonly engine: Engine;
  readonly client: Client;
  readonly environment: string;
  readonly dispatcher: Dispatcher;
  /** Turns of a version that is not carried here. */
  readonly elsewhere: ReadonlySet<TurnRef>;
  readonly tick: () => Promise<TickAnswer>;
  /**
   * Waits for those whom this visit has asked to go on, ends the connection to the database, and notes a first tick.
   * Answers whether all that it has dispatched was taken.
   */
  readonly settle: () => Promise<boolean>;
}

/** @throws LayoverError `internal`, naming the option that finds nothing to use in `env` */
export function beginVisit<Env>(settings: VisitSettings<Env>, env: Env, options: VisitOptions): Visit {
  const { namespace, isolate, report: onError, invocation } = settings;
  const { secrets, publicUrl, clock, deployment } = isolate;
  const { until, turns = 1, isDelivery = false, requestId } = options;
  const { maxSteps, budgetMs } = { ...carrying, ...invocation };
  const report = (error: unknown) => onError(error, "dispatching");
  const closesAt = Math.min(Date.now() + budgetMs, until());
  const here: Here = {
    carryOut: (refs, most) => engineOf(most).carryOut(refs),
    steps: isDelivery && maxSteps > 1 ? maxSteps : 0,
    isOpen: () => Date.now() < closesAt,
  };
  /** The runs of which it dispatched a turn that nobody took. */
  const refused = new Set<string>();
  const onRefused = (refs: readonly TurnRef[]) => {
    for (const { runId } of refs) refused.add(runId);
  };
  const bindings = bindingsOf({ ...settings, ...options, here, onRefused, report }, env);
  const { alarms, dispatcher, hasQueue } = bindings;
  const { dispatch } = dispatcher;

  const database = lazyDatabase(() => read("database", () => settings.database(env)));
  const environment = read("environment", () => settings.environment?.(env)) ?? defaults.environment;
  // Without an object that rings the cron trigger does, at its pace.
  const alarm = alarms?.alarm ?? (async () => {});
  const calls = new Calls({ query: database, namespace, alarm, isBeat: alarms === undefined, clock, report: onError });
  const elsewhere = new Set<TurnRef>();
  const sealCallback = callbackSealer({ secrets, namespace, environment, publicUrl });
  const engineOf = (most: number) =>
    new Engine({
      ...settings,
      deployment,
      calls,
      dispatch,
      environment,
      sealCallback,
      invocation: { maxSteps: most, budgetMs: Math.min(budgetMs, until() - Date.now()) },
      warmRuns: 0,
      claimBytes,
      resendMs: Math.max(0, until() - Date.now()),
      requestId: () => requestId,
      onElsewhere: (ref) => elsewhere.add(ref),
      atRest,
    });
  const engine = engineOf(Math.max(1, Math.floor(maxSteps / turns)));
  // What each finish leans on is armed beside the claim, so that no finish waits for it.
  if (isDelivery && clock.isKnown) calls.alarms.armFor(clock.now(), []).catch(() => {});

  /*
   * New code is to try blocked runs again, and a blocked run has no due instant. So the first tick of a deployment
   * looks at all runs, and the database notes that it did. It notes this only once everything that the tick has
   * dispatched was taken: by the queue, or by requests that could claim it. If a dispatch is refused or lost, or the
   * tick is cut off before, the next tick looks again.
   */
  const named = { deploymentName: deployment.name, deployment: deployment.id };
  let toNote: NoteCall | undefined;
  const moved: (readonly Move[])[] = [];
  const tick = async (): Promise<TickAnswer> => {
    const most = !hasQueue && { most: mostOfTick };
    const answer = await dispatcher.together(() => engine.tick({ onMoved: (moves) => moved.push(moves), ...most }));
    const { isNew, triedThrough, due } = answer;
    if (isNew || triedThrough !== undefined) toNote = { environment, ...named, note: "looked", triedThrough };
    // There may be more than requests can carry: an object that rings is to ring for the rest.
    if (!hasQueue && due > 0) await calls.alarms.arm([calls.clock.now() + 60_000]);
    return answer;
  };
  const client = new Client({
    calls,
    dispatch,
    wake: async () => void (await tick()),
    openCallback: callbackOpener({ secrets, namespace, environment }),
    sealCallback,
    onError: report,
  });
  const leave = async (): Promise<void> => {
    await database.end().catch((error: unknown) => onError(error, "leaving the database"));
  };
  const settle = async (): Promise<boolean> => {
    // Who waits for requests to itself has no connection open. With a queue it may be at work here itself.
    if (!hasQueue) await leave();
    await dispatcher.settled();
    for (const moves of moved) {
      const again = moves.filter(({ runId }) => refused.has(runId));
      await lookAgain(calls, again).catch(report);
    }
    await leave();
    if (toNote === undefined || !dispatcher.isWhole) return dispatcher.isWhole;
    try {
      await calls.noteDeployment(toNote);
      if (!isolate.isWarned) for (const cost of costsOf(bindings)) console.warn(cost);
      isolate.isWarned = true;
      return true;
    } catch (error) {
      onError(error, "noting the deployment");
      return false;
    } finally {
      await leave();
    }
  };
  return { engine, client, environment, dispatcher, elsewhere, tick, settle };
}

/**
 * workerd has no `setImmediate` without nodejs_compat, and hands on a MessageChannel's messages between two microtasks. A
 * timer of 0 ms comes after all of them, within some µs.
 */
function atRest(): Promise<void> {
  return pause(hostClock, 0);
}
