/** Builders for tests of the client and of HTTP: a client over a test's database that tells what it sent. */
import { Client, type ClientOptions } from "../../src/client/over-postgres/client.ts";
import { encode } from "../../src/core/codec/codec.ts";
import type { Alarm, Dispatch, Query, TurnRef, WallClock } from "../../src/core/ports.ts";
import { callbackOpener, callbackSealer } from "../../src/http/callback-token.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { type Calls, makeCalls } from "../../src/postgres/calls.ts";
import type { ClaimedRun, FinishRun, NewDemand } from "../../src/postgres/wire.ts";

export const namespace = "test";
export const secret = "q3Jx9ZkP0wVfT7uYb2LmNc8RsAe5GhD1iKo4XyUzW6E=";
export const secrets = new Secrets([secret]);
export const sealCallback = callbackSealer({ secrets, namespace, publicUrl: "https://example.com" });

export interface TestClient {
  readonly client: Client;
  readonly calls: Calls;
  /** What was asked of the platform. */
  readonly dispatches: { readonly turns: readonly TurnRef[]; readonly delayMs: number }[];
  /** Instants that were armed. */
  readonly armed: number[];
  /** The texts of the statements that were sent. */
  readonly statements: string[];
  readonly wakes: { count: number };
}

export interface TestClientOptions extends Partial<ClientOptions> {
  /** Instead of the database's own. */
  readonly wrapQuery?: (query: Query) => Query;
}

export function aClient(query: Query, { wrapQuery = (same) => same, ...options }: TestClientOptions = {}): TestClient {
  const statements: string[] = [];
  const dispatches: TestClient["dispatches"] = [];
  const armed: number[] = [];
  const wakes = { count: 0 };
  const counting = Object.assign(
    (...[text, parameters]: Parameters<Query>) => {
      statements.push(text);
      return wrapQuery(query)(text, parameters);
    },
    { endpoint: query.endpoint, sealing: query.sealing },
  );
  const alarm: Alarm = async (instants) => {
    armed.push(...instants.map(({ at }) => at));
  };
  const dispatch: Dispatch = async (turns, delayMs) => {
    dispatches.push({ turns, delayMs });
  };
  const wake = async () => {
    wakes.count += 1;
  };
  const calls = makeCalls({ query: counting, namespace, alarm, host: options.host });
  const openCallback = callbackOpener({ secrets, namespace });
  return {
    client: new Client({ calls, dispatch, wake, openCallback, sealCallback, ...options }),
    calls,
    dispatches,
    armed,
    statements,
    wakes,
  };
}

/** A host on which every pause is over at once, and no time passes while something else is to be done. */
export function aHastyHost(): WallClock & { readonly pauses: number[] } {
  const pauses: number[] = [];
  let now = 0;
  const after: WallClock["after"] = (ms, act) => {
    const waiting = setImmediate(() => {
      now += ms;
      pauses.push(ms);
      act();
    });
    return () => clearImmediate(waiting);
  };
  return { now: () => now, monotonic: () => now, after, pauses };
}

/** Plays the engine for one turn of a run: claims it, and finishes it as told. */
export async function carryOut(
  calls: Calls,
  { runId, workflow, turn = 1 }: { runId: string; workflow: string; turn?: number },
  finish:
    | Omit<FinishRun, "runId" | "token" | "position" | "armed">
    | { readonly completed: unknown }
    | { readonly failed: unknown }
    | { readonly cancelled: unknown }
    | { readonly waitsFor: readonly Omit<NewDemand, "demandedAfter" | "ordinal" | "occurrence">[] },
): Promise<ClaimedRun> {
  const token = crypto.randomUUID();
  const { turns } = await calls.claimTurns({
    environment: "test",
    endpoint: calls.endpoint,
    versions: { [workflow]: [1, 2] },
    knowsEpochs: true,
    leaseMs: 60_000,
    maxClaims: 50,
    maxBeginnings: 5,
    turns: [{ runId, turn, token, alone: false }],
  });
  const [claimed] = turns;
  if (claimed?.outcome !== "claimed" || !("pending" in claimed))
    throw new Error(`not claimed: ${JSON.stringify(claimed)}`);
  const common = { runId, token, position: claimed.position };
  const answer = await calls.finishTurns([{ ...common, ...finishOf(finish) }], []);
  if (answer.turns[0]?.outcome !== "finished") throw new Error(`not finished: ${JSON.stringify(answer.turns[0])}`);
  return claimed;
}

function finishOf(finish: Parameters<typeof carryOut>[2]) {
  if ("next" in finish) return finish;
  if ("completed" in finish) return { next: "completed" as const, value: encode(finish.completed) };
  if ("failed" in finish) return { next: "failed" as const, value: encode(finish.failed) };
  if ("cancelled" in finish) return { next: "cancelled" as const, value: encode(finish.cancelled) };
  const demands = finish.waitsFor.map((wait, ordinal) => ({ ...wait, occurrence: 0, demandedAfter: 0, ordinal }));
  return { next: "parked" as const, demands };
}
