/** Makes the parts of a process that carries out runs, and ties them together. None of them has begun yet. */
import { env } from "node:process";
import { Client } from "../../../client/over-postgres/client.ts";
import { checkNamespace, defaultEnvironment } from "../../../core/names.ts";
import { codeDigest } from "../../../engine/digest.ts";
import { Engine } from "../../../engine/engine.ts";
import { type Report, reportTo } from "../../../engine/events.ts";
import { guardHooks } from "../../../engine/hooks.ts";
import type { Deployment } from "../../../engine/options.ts";
import { Registry } from "../../../engine/registry.ts";
import { callbackOpener, callbackSealer } from "../../../http/callback-token.ts";
import { ringing } from "../../../http/ring.ts";
import { type Calls, makeCalls } from "../../../postgres/calls.ts";
import { callDoor } from "../neighbours/door.ts";
import { Neighbours, type NeighboursOptions } from "../neighbours/neighbours.ts";
import { InProcessDispatch } from "./in-process-dispatch.ts";
import type { InProcessOptions } from "./options.ts";
import { Ticker } from "./ticker.ts";
import { TimerAlarm } from "./timer-alarm.ts";

/**
 * A process that stays carries a run on from step to step, each recorded and the next claimed by one statement: nothing
 * ends its invocations early, and a hop takes one round trip instead of two (0.4 ms instead of 0.7, WAL 520 B a step
 * instead of 780; `npm run bench -- --only a,b`).
 */
const resident = { maxSteps: 100, budgetMs: 1_000 };

/** How many bytes of history the runs at work may have. As text they take up to twice as much memory. */
const defaultWorkBytes = 256 * 1024 * 1024;

export interface PartsOptions extends InProcessOptions {
  /** The address at which other processes on this database reach this one. Undefined: they do not learn of it. */
  readonly door?: string | undefined;
}

export interface Parts {
  readonly client: Client;
  readonly engine: Engine;
  readonly calls: Calls;
  readonly dispatch: InProcessDispatch;
  readonly ticker: Ticker;
  readonly alarm: TimerAlarm;
  /** Handles the messages that come to the door. Undefined: there is no door. */
  readonly neighbours: Neighbours | undefined;
  readonly report: Report;
  readonly deployment: Deployment;
  /** Notes in the database that this deployment has looked at all runs, or that a process of it has ended. */
  readonly note: (what: "looked" | "left") => Promise<unknown>;
}

/** @throws LayoverError `duplicate_workflow`; `invalid_name` for the namespace */
export function partsOf(given: PartsOptions): Parts {
  const options = guardHooks(given);
  const { database, isExclusive = false, concurrency = 64, batch = 100, onEvent: tell } = options;
  const registry = new Registry(options.workflows, options.schedules);
  const namespace = checkNamespace(options.namespace ?? "default");
  const report = reportTo(tell);
  const alarm = new TimerAlarm(() => ticker.ring());
  const neighbours = neighboursOf(options, {
    versions: registry.versions,
    alarm: alarm.arm,
    list: (call) => calls.noteProcess(call),
    ring: () => ticker.ring(),
    lookAhead: () => ticker.lookAhead(),
    onError: report,
  });
  const calls = makeCalls({
    query: database,
    namespace,
    alarm: neighbours?.arm ?? alarm.arm,
    ringers: neighbours,
    report,
  });
  const inMemory = new InProcessDispatch({
    carryOut: async (turns, onEnd) => {
      let failure: unknown;
      const onClaimFailed = (error: unknown) => {
        failure = error;
      };
      ticker.noteClaims(await engine.carryOut(turns, { onEnd, onClaimFailed }), failure);
    },
    concurrency,
    batch,
  });
  const { dispatch } = inMemory;
  const { sealCallback, openCallback } = callbacksOf(options);
  const deployment = deploymentOf(options);
  const { invocation = resident, workBytes = defaultWorkBytes, secrets } = options;
  const engine = new Engine({
    ...options,
    registry,
    timeOfDay: Date.now,
    deployment,
    ringAt: secrets && ringing({ secrets, namespace, host: Date }),
    invocation,
    sealCallback,
    workBytes,
    calls,
    dispatch,
  });
  const note = (what: "looked" | "left") => {
    const { environment = defaultEnvironment } = options;
    const named = { environment, deploymentName: deployment.name, deployment: deployment.id };
    return calls.noteDeployment({ ...named, note: what });
  };
  const ticker = new Ticker({
    tick: async ({ isFirst, looksAhead, readyUntil, isRung }) => {
      await neighbours?.refresh();
      const answer = await engine.tick({ isFirst, looksAhead, isExclusive, readyUntil, isRung });
      if (answer.hasSeenAll) await note("looked");
      return answer;
    },
    tell,
  });
  const wake = async (readyUntil?: number) =>
    void (await ticker.tick(readyUntil, { isRung: readyUntil !== undefined }));
  const onError = (error: unknown) => report(error, "dispatching");
  const traceparent = options.telemetry?.traceparent;
  const onEndAsked = engine.tellEnd;
  const client = new Client({ calls, dispatch, wake, openCallback, sealCallback, onEndAsked, onError, traceparent });
  return { client, engine, calls, dispatch: inMemory, ticker, alarm, neighbours, report, deployment, note };
}

function deploymentOf({
  workflows,
  schedules,
  deployment,
  deploymentName = "node",
  wakeAddress,
}: InProcessOptions): Deployment {
  const id = deployment ?? (env["LAYOVER_DEPLOYMENT"] || codeDigest(workflows, schedules));
  return { name: deploymentName, id, wakeAddress };
}

function callbacksOf({ secrets, publicUrl, environment, namespace = "default" }: InProcessOptions) {
  if (secrets === undefined) return { sealCallback: undefined, openCallback: undefined };
  const terms = { secrets, namespace, environment };
  const sealCallback = publicUrl === undefined ? undefined : callbackSealer({ ...terms, publicUrl });
  return { sealCallback, openCallback: callbackOpener(terms) };
}

type Ringing = Pick<NeighboursOptions, "alarm" | "ring" | "lookAhead" | "onError"> & {
  readonly versions: Registry["versions"];
  readonly list: Calls["noteProcess"];
};

/** The other processes on this database. Undefined: this process has no door at which they could reach it. */
function neighboursOf(options: PartsOptions, { versions, list, ...ringing }: Ringing): Neighbours | undefined {
  const { door, secrets, namespace = "default", environment = defaultEnvironment } = options;
  if (door === undefined || secrets === undefined) return undefined;
  const self = { id: crypto.randomUUID(), door, versions };
  return new Neighbours({
    ...ringing,
    self,
    send: (to, message) => callDoor(to, message, { secrets, namespace }),
    list: (call) => list({ ...call, ...self, environment }),
  });
}
