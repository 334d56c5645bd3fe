/**
 * Makes what one invocation works with: an engine, a client and a dispatcher of its own. On a platform where invocations
 * share nothing, such as Cloudflare, nothing of it outlives the invocation. It knows no platform: see host.ts.
 */
import { Client } from "../../client/over-postgres/client.ts";
import type { TurnRef } from "../../core/ports.ts";
import { nextTickMs } from "../../core/waking.ts";
import { Engine } from "../../engine/engine.ts";
import type { TickAnswer } from "../../engine/scheduler/tick.ts";
import { callbackOpener, callbackSealer } from "../../http/callback-token.ts";
import { ringing } from "../../http/ring.ts";
import { makeCalls } from "../../postgres/calls.ts";
import type { Dispatcher, InvocationHost } from "./host.ts";
import { InvocationEnd } from "./invocation-end.ts";
import { lazyDatabase } from "./lazy-database.ts";

export interface InvocationOptions {
  /** The instant after which no step is begun and nothing is dispatched, in epoch milliseconds of the host's clock. */
  readonly until: () => number;
  /** How many turns the invocation is asked to carry out. Default: 1. */
  readonly turns?: number;
  /** Whether the platform delivers these turns. Then the invocation may also carry out what follows from them. */
  readonly isDelivery?: boolean;
  /** How `wake` of the client asks for a tick. Default: it does one pass of the scheduler here. */
  readonly wake?: (readyUntil?: number) => Promise<void>;
  /** Whether the platform arms the next tick itself, if one fails. Default: false. */
  readonly armsAgain?: boolean;
  /** The platform's id of the invocation. */
  readonly requestId?: string | undefined;
}

export interface HostedInvocation {
  readonly engine: Engine;
  readonly client: Client;
  readonly dispatcher: Dispatcher;
  /** Turns of a version that is not carried here. */
  readonly elsewhere: ReadonlySet<TurnRef>;
  /** Does one pass of the scheduler. `readyUntil`: as for the engine's tick. */
  readonly tick: (readyUntil?: number) => Promise<TickAnswer>;
  /**
   * Waits for everything that the invocation has dispatched, ends the connection to the database, and notes a first
   * tick. Answers whether everything that was dispatched was taken.
   */
  readonly end: () => Promise<boolean>;
}

export function beginInvocation(platform: InvocationHost, options: InvocationOptions): HostedInvocation {
  const { alarm, clock, host, report } = platform;
  const { until, turns = 1, isDelivery = false, armsAgain: isArmedAgain } = options;
  const { maxSteps, budgetMs } = platform.invocation;
  const onError = (error: unknown) => report(error, "dispatching");
  const closesAt = Math.min(host.now() + budgetMs, until());
  const database = lazyDatabase(platform.database);
  const isBeat = alarm === undefined;
  const calls = makeCalls({ ...platform, query: database, alarm: alarm ?? (async () => {}), isBeat });
  const ending = new InvocationEnd({ host: platform, calls, database });
  const dispatcher = platform.dispatcherOf({
    host,
    here: {
      carryOut: (refs, most) => engineOf(most).carryOut(refs),
      steps: isDelivery && maxSteps > 1 ? maxSteps : 0,
      isOpen: () => host.now() < closesAt,
    },
    until,
    onRefused: (refs) => ending.noteRefused(refs),
    onError,
  });
  const { dispatch } = dispatcher;
  const sealCallback = callbackSealer(platform);
  const elsewhere = new Set<TurnRef>();
  const engineOf = engines(platform, options, {
    calls,
    dispatch,
    sealCallback,
    onElsewhere: (ref) => elsewhere.add(ref),
  });
  const engine = engineOf(Math.max(1, Math.floor(maxSteps / turns)));
  // What each finish leans on is armed beside the claim, so that no finish waits for it.
  if (isDelivery && clock.isKnown) calls.alarms.armFor(clock.now(), []).catch(() => {});
  const tick = async (readyUntil?: number, { isRung = false } = {}): Promise<TickAnswer> => {
    const { mostOfTick: most } = platform;
    const ticking = () =>
      engine.tick({ onMoved: (moves) => ending.noteMoved(moves), readyUntil, isRung, isArmedAgain, most });
    const answer = await dispatcher.together(ticking);
    ending.noteTick(answer);
    // An alarm is to ring for what one tick may not dispatch.
    if (answer.isCutShort) await calls.alarms.arm([calls.clock.now() + nextTickMs]);
    return answer;
  };
  const client = new Client({
    calls,
    dispatch,
    wake: options.wake ?? (async (readyUntil) => void (await tick(readyUntil, { isRung: readyUntil !== undefined }))),
    traceparent: platform.engine.telemetry?.traceparent,
    openCallback: callbackOpener(platform),
    sealCallback,
    onError,
    host,
  });
  return { engine, client, dispatcher, elsewhere, tick, end: () => ending.end(dispatcher) };
}

type Parts = Pick<ConstructorParameters<typeof Engine>[0], "calls" | "dispatch" | "sealCallback" | "onElsewhere">;

/** Makes engines of one invocation, each of which carries out so many steps of a run. */
function engines(platform: InvocationHost, { until, requestId }: InvocationOptions, parts: Parts) {
  const { host, invocation } = platform;
  return (maxSteps: number): Engine => {
    const leftMs = until() - host.now();
    return new Engine({
      ...platform,
      ...platform.engine,
      ...parts,
      deployment: { ...platform.deployment, wakeAddress: platform.publicUrl },
      ringAt: ringing(platform),
      invocation: { maxSteps, budgetMs: Math.min(invocation.budgetMs, leftMs) },
      resendMs: Math.max(0, leftMs),
      requestId: () => requestId,
    });
  };
}
