/**
 * What one request, or one ring of the cron trigger, works with: an engine, a client and a way to dispatch, all its own.
 * Nothing of it outlives the request (see isolate.ts).
 */
import { Client } from "../client/client.ts";
import { LayoverError } from "../core/errors.ts";
import type { TurnRef } from "../core/ports.ts";
import { Engine } from "../engine/engine.ts";
import { defaults, type EngineOptions } from "../engine/options.ts";
import { callbackOpener, callbackSealer } from "../http/callback-token.ts";
import { mostTurnsBytes, turnsPath, turnsRequest } from "../http/internal.ts";
import { Calls } from "../postgres/calls.ts";
import { hostClock, pause } from "../postgres/clock.ts";
import type { NoteCall } from "../postgres/wire.ts";
import type { CloudflareOptions } from "./cloudflare-options.ts";
import { type Isolate, read } from "./isolate.ts";
import { lazyDatabase } from "./lazy-database.ts";
import { SelfDispatch } from "./self-dispatch.ts";

/**
 * A chain of requests to oneself is stopped at a depth of 16 by the public URL (error 1019), and by a service binding
 * after 32 requests in all, side chains included. Before that the rest is left to the cron trigger, which begins anew; so
 * is what is refused where chains side by side come to 32 sooner, which is reported.
 */
const mostHops = 12;

/**
 * In all, of what a visit may ask of others. The Free plan allows 50 subrequests, and with `neon` each statement is one,
 * so some are left for those: 10 of a tick that finds as much as it may dispatch, some 15 of a request with ten turns.
 */
const mostRequests = 30;

/** What one tick dispatches: 67 turns a request, and at most a third of the requests with one that goes alone. */
const mostOfTick = { turns: 2_000, alone: 10 };

/** A request may have six connections open, those of the service bindings that it calls included. */
const mostOpen = 4;

/**
 * For all turns of a request together, so that their statements are few beside the requests that may follow. Ten steps in
 * a row, with a database that answers after 8 ms: 133 ms and 11 statements; one a request, 196 ms and 20. And twelve
 * requests reach ten times as far.
 */
const carrying = { maxSteps: 10, budgetMs: 5_000 };

export interface VisitSettings<Env> extends CloudflareOptions<Env> {
  readonly isolate: Isolate;
  readonly namespace: string;
  readonly onError: NonNullable<EngineOptions["onError"]>;
}

export interface VisitOptions {
  /** How many requests to oneself led here. */
  readonly hops: number;
  /** After this no step is begun and nothing is dispatched. In epoch milliseconds, by the host's clock. */
  readonly until: () => number;
  /** How many turns it is asked to carry out. */
  readonly turns?: number;
  /** Has the runtime wait for what this visit has begun, also beyond its answer. */
  readonly hold?: (sent: Promise<void>) => void;
  readonly requestId?: string | undefined;
}

export interface Visit {
  readonly engine: Engine;
  readonly client: Client;
  readonly tick: () => Promise<void>;
  /** Ends the connection to the database, waits for those whom this visit has asked to go on, and notes a first tick. */
  readonly settle: () => Promise<void>;
}

/** @throws LayoverError `internal`, naming the option that finds nothing to use in `env` */
export function beginVisit<Env>(settings: VisitSettings<Env>, env: Env, options: VisitOptions): Visit {
  const { namespace, isolate, onError, batch = 10, invocation } = settings;
  const { secrets, publicUrl, clock, deployment } = isolate;
  const { hops, until, turns = 1, hold, requestId } = options;
  const database = lazyDatabase(() => read("database", () => settings.database(env)));
  const environment = read("environment", () => settings.environment?.(env)) ?? defaults.environment;
  const self = read("self", () => settings.self?.(env)) ?? globalThis;

  const selfDispatch = new SelfDispatch({
    send: async (sent: readonly TurnRef[], goesOn: boolean) => {
      const message = { turns: sent, hops: goesOn ? hops + 1 : mostHops, until: until() };
      const request = turnsRequest(message, { secrets, namespace });
      // A redirect would make a GET of it.
      const response = await self.fetch(`${publicUrl}${turnsPath}`, { ...request, redirect: "manual" });
      await response.body?.cancel(); // who reads no answer keeps the connection
      if (!response.ok) throw refused(response.status);
    },
    batch,
    mostBytes: mostTurnsBytes,
    mostRequests,
    concurrency: mostOpen,
    until,
    hold,
    onError: (error) => onError(error, "dispatching"),
  });
  const dispatch = hops < mostHops ? selfDispatch.dispatch : async () => {};
  // Whatever is armed, the cron trigger rings at its pace. The price: each time it asks the database, and keeps it awake.
  const alarm = async () => {};
  const calls = new Calls({ query: database, namespace, alarm, isBeat: true, clock });
  const { maxSteps, budgetMs } = { ...carrying, ...invocation };
  const engine = new Engine({
    ...settings,
    calls,
    dispatch,
    environment,
    sealCallback: callbackSealer({ secrets, namespace, publicUrl }),
    invocation: {
      maxSteps: Math.max(1, Math.floor(maxSteps / turns)),
      budgetMs: Math.min(budgetMs, until() - Date.now()),
    },
    warmRuns: 0,
    requestId: () => requestId,
    atRest,
  });
  /*
   * A blocked run has no due instant, and new code is to try it again. So the database remembers which deployment has
   * ticked last, once all that its first tick has dispatched was carried by requests that could claim it. Is one of them
   * refused or lost, or the tick cut off before, the next one does it again. While two versions share the traffic they take turns in being new.
   */
  let toNote: NoteCall | undefined;
  const tick = async (): Promise<void> => {
    const { isNew, triedThrough } = await selfDispatch.together(() => engine.tick({ deployment, most: mostOfTick }));
    if (isNew || triedThrough !== undefined) toNote = { environment, deployment, triedThrough };
  };
  const client = new Client({
    calls,
    dispatch,
    wake: tick,
    openCallback: callbackOpener({ secrets, namespace }),
    onError: (error) => onError(error, "dispatching"),
  });
  const leave = async (): Promise<void> => {
    await database.end().catch((error: unknown) => onError(error, "leaving the database"));
  };
  const settle = async (): Promise<void> => {
    await leave();
    await selfDispatch.settled();
    if (toNote === undefined || !selfDispatch.isWhole) return;
    try {
      await calls.noteDeployment(toNote);
    } catch (error) {
      onError(error, "noting the deployment");
    }
    await leave();
  };
  return { engine, client, tick, settle };
}

/**
 * workerd has no `setImmediate` without nodejs_compat, and hands on a MessageChannel's messages between two microtasks. A
 * timer of 0 ms comes after all of them, within some µs.
 */
function atRest(): Promise<void> {
  return pause(hostClock, 0);
}

function refused(status: number): LayoverError {
  const cause =
    status === 503
      ? "It came too late, or could not claim the turns, which was reported by itself."
      : "Look at `publicUrl` and `prefix`, and whether something in front of the Worker answers instead.";
  return new LayoverError("internal", `the Worker's own request to ${turnsPath} was answered ${status}`, {
    hint: `${cause} The cron trigger goes on with the runs.`,
    details: { status },
  });
}
