/**
 * layover in one process, without HTTP. Turns are dispatched in memory, and alarms are timers. If they are lost with
 * the process, the first tick of the next process finds the work again in the database.
 *
 *   const { client, close } = await startInProcess({ workflows: [orderWorkflow], database: pg(pool) });
 *
 * A handler may make a promise that rejects and that nobody awaits, and Node ends a process over that. A library should
 * not change this for its host, so nothing here does. The file that owns the process does it (functions/node.ts,
 * src/cli/dev.ts).
 */
import { env } from "node:process";
import { Client } from "../../../client/over-postgres/client.ts";
import { translated } from "../../../client/over-postgres/failure.ts";
import type { Workflow } from "../../../core/contract/contract.ts";
import { type Duration, toMilliseconds } from "../../../core/duration.ts";
import { LayoverError } from "../../../core/errors.ts";
import { checkNamespace } from "../../../core/names.ts";
import type { Query } from "../../../core/ports.ts";
import { codeDigest } from "../../../engine/digest.ts";
import { Engine } from "../../../engine/engine.ts";
import { reportTo } from "../../../engine/events.ts";
import { guardHooks } from "../../../engine/hooks.ts";
import { defaults, type EngineOptions } from "../../../engine/options.ts";
import { Registry } from "../../../engine/registry.ts";
import { callbackOpener, callbackSealer } from "../../../http/callback-token.ts";
import type { Secrets } from "../../../http/secrets.ts";
import { type Calls, makeCalls } from "../../../postgres/calls.ts";
import { hostClock } from "../../../postgres/host-clock.ts";
import { callDoor } from "../neighbours/door.ts";
import { Neighbours } from "../neighbours/neighbours.ts";
import { InProcessDispatch } from "./in-process-dispatch.ts";
import { Ticker } from "./ticker.ts";
import { TimerAlarm } from "./timer-alarm.ts";

/**
 * A process that stays carries a run on from step to step, each recorded and the next claimed by one statement: nothing
 * ends its invocations early, and a hop takes one round trip instead of two (0.4 ms instead of 0.7, WAL 520 B a step
 * instead of 780; `npm run bench -- --only a,b`).
 */
const resident = { maxSteps: 100, budgetMs: 1_000 };

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
>;

export interface InProcessOptions extends Settings {
  readonly workflows: readonly Workflow[];
  readonly database: Query;
  /** Runs of other namespaces in the same database are none of ours. Default: "default". */
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
   * How many invocations may be under way that began within the last second. Default: 64. An invocation with slow
   * bodies stops counting after a second, so it keeps no other run from beginning. At most 1,000 bodies are under way
   * together, however many runs are ready.
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

const defaultGrace = "10s";
/** How long a process that ends waits until the database has noted it. */
const leavingMs = 1_000;
const nothing = () => {};

/**
 * Begins to carry out what is ready, in the background. If the database cannot be reached, it tries again by itself.
 *
 * @throws LayoverError `duplicate_workflow`; `invalid_name` for the namespace; `internal` if layover is not installed
 *   in the database
 */
export async function startInProcess(options: InProcessOptions): Promise<InProcess> {
  const process = prepareInProcess(options);
  await process.begin();
  return process;
}

/** A process that has not begun yet. */
interface Prepared extends InProcess {
  readonly begin: () => Promise<void>;
  /** Handles the messages that come to the door. Undefined: there is no door. */
  readonly neighbours: Neighbours | undefined;
}

/** How many bytes of history the runs at work may have. As text they take up to twice as much memory. */
const defaultWorkBytes = 256 * 1024 * 1024;

/**
 * @internal Makes everything ready without beginning, so that a server can answer before that. `door`: the address at
 *   which other processes on this database reach this one.
 */
export function prepareInProcess(given: InProcessOptions & { readonly door?: string | undefined }): Prepared {
  const options = guardHooks(given);
  const { workflows, database, publicUrl, secrets, concurrency = 64, batch = 100 } = options;
  const namespace = checkNamespace(options.namespace ?? "default");
  const { isExclusive = false, environment, onEvent: tell } = options;
  const report = reportTo(tell);
  const alarm = new TimerAlarm(() => ticker.ring());
  const neighbours = withNeighbours();
  const calls = makeCalls({
    query: database,
    namespace,
    alarm: neighbours?.arm ?? alarm.arm,
    ringers: neighbours,
    report,
  });
  const dispatch = new InProcessDispatch({
    carryOut: async (turns, onEnd) => ticker.noteWork(await engine.carryOut(turns, onEnd)),
    concurrency,
    batch,
  });
  const canSeal = secrets !== undefined && publicUrl !== undefined;
  const sealCallback = canSeal ? callbackSealer({ secrets, namespace, environment, publicUrl }) : undefined;
  const openCallback = secrets && callbackOpener({ secrets, namespace, environment });
  const { invocation = resident } = options;
  const id = options.deployment ?? (env["LAYOVER_DEPLOYMENT"] || codeDigest(workflows));
  const deployment = { name: options.deploymentName ?? "node", id };
  const carrying = { deployment, invocation, sealCallback };
  const { workBytes = defaultWorkBytes } = options;
  const engine = new Engine({ ...options, ...carrying, workBytes, calls, dispatch: dispatch.dispatch, workflows });
  const note = (what: "looked" | "left") => {
    const named = { environment: environment ?? defaults.environment, deploymentName: deployment.name, deployment: id };
    return calls.noteDeployment({ ...named, note: what });
  };
  const ticker = new Ticker({
    tick: async ({ isNew, looksAhead }) => {
      await neighbours?.refresh();
      const answer = await engine.tick({ ...(isNew && { isNew }), looksAhead, isExclusive });
      if (answer.isNew) await note("looked");
      return answer;
    },
    tell,
  });
  const client = new Client({
    calls,
    dispatch: dispatch.dispatch,
    wake: async () => void (await ticker.tick()),
    openCallback,
    sealCallback,
    onError: (error) => report(error, "dispatching"),
  });
  function withNeighbours(): Neighbours | undefined {
    const { door, environment = defaults.environment } = options;
    if (door === undefined || secrets === undefined) return undefined;
    const self = { id: crypto.randomUUID(), door, versions: new Registry(workflows).versions };
    return new Neighbours({
      self,
      alarm: alarm.arm,
      send: (to, message) => callDoor(to, message, { secrets, namespace }),
      list: (call) => calls.noteProcess({ ...call, ...self, environment }),
      ring: () => ticker.ring(),
      lookAhead: () => ticker.lookAhead(),
      onError: report,
    });
  }
  const begin = async (): Promise<void> => {
    try {
      await translated(async () => void (await (isExclusive ? calls.voidLeases() : calls.now())));
    } catch (error) {
      const isPassing = error instanceof LayoverError && error.code === "database_unavailable";
      if (isExclusive || !isPassing) {
        await close();
        throw error;
      }
      report(error, "beginning");
    }
    neighbours?.begin();
    ticker.ring();
  };
  let closing: Promise<void> | undefined;
  const close = ({ grace = defaultGrace }: CloseOptions = {}): Promise<void> => {
    closing ??= end(toMilliseconds(grace));
    return closing;
  };
  const end = async (graceMs: number): Promise<void> => {
    engine.close();
    const handedOver = neighbours?.handOver();
    await ticker.close();
    const isOver = await isSettledWithin(graceMs, dispatch.close());
    if (!isOver) {
      engine.abandon();
      await engine.giveBack();
    }
    await handedOver;
    await neighbours?.leave();
    if (calls.clock.isKnown) await isSettledWithin(leavingMs, note("left").then(nothing, nothing));
    alarm.close();
  };
  return {
    client,
    engine,
    calls,
    dispatch,
    get isClosing() {
      return closing !== undefined;
    },
    begin,
    close,
    neighbours,
  };
}

async function isSettledWithin(ms: number, work: Promise<void>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const cancel = hostClock.after(ms, () => resolve(false));
  void work.then(() => resolve(true));
  try {
    return await promise;
  } finally {
    cancel();
  }
}
