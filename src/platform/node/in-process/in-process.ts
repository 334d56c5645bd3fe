/**
 * layover in one process, without HTTP. Turns are dispatched in memory, and alarms are timers. If they are lost with
 * the process, the first tick of the next process finds the work again in the database.
 *
 *   const { client, close } = await startInProcess({ workflows: [orderWorkflow], database: pg(pool) });
 *
 * A handler may make a promise that rejects and that nobody awaits, and Node ends a process over that. A library should
 * not change this for its host, so nothing here does. The file that owns the process does it (functions/node.ts,
 * src/cli/dev/serve.ts).
 */
import { translated } from "../../../client/over-postgres/failure.ts";
import { toMilliseconds } from "../../../core/duration.ts";
import { LayoverError } from "../../../core/errors.ts";
import { hostClock } from "../../../postgres/host-clock.ts";
import type { CloseOptions, InProcess, InProcessOptions } from "./options.ts";
import { type Parts, type PartsOptions, partsOf } from "./parts.ts";

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
export interface Prepared extends InProcess, Pick<Parts, "neighbours" | "deployment"> {
  readonly begin: () => Promise<void>;
}

/** @internal Makes everything ready without beginning, so that a server can answer before that. */
export function prepareInProcess(options: PartsOptions): Prepared {
  const parts = partsOf(options);
  const { client, engine, calls, dispatch, neighbours, deployment } = parts;
  let closing: Promise<void> | undefined;
  const close = ({ grace = defaultGrace }: CloseOptions = {}): Promise<void> => {
    closing ??= end(parts, toMilliseconds(grace));
    return closing;
  };
  const { isExclusive = false } = options;
  return {
    client,
    engine,
    calls,
    dispatch,
    neighbours,
    deployment,
    get isClosing() {
      return closing !== undefined;
    },
    begin: () => begin(parts, { isExclusive, close }),
    close,
  };
}

/** Begins to tick. A database that cannot be reached now is no reason to end, unless nobody else uses it. */
async function begin(
  { calls, neighbours, ticker, report }: Parts,
  { isExclusive, close }: { readonly isExclusive: boolean; readonly close: () => Promise<void> },
): Promise<void> {
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
  ticker.begin();
}

/** Ends the work. Nothing more begins; the steps under way have so long to end. */
async function end(
  { engine, neighbours, ticker, dispatch, calls, alarm, note }: Parts,
  graceMs: number,
): Promise<void> {
  engine.close();
  const handedOver = neighbours?.handOver();
  await ticker.close();
  const hasEnded = await endsWithin(graceMs, dispatch.close());
  if (!hasEnded) {
    engine.abandon();
    await engine.giveBack();
  }
  await handedOver;
  await neighbours?.leave();
  if (calls.clock.isKnown) await endsWithin(leavingMs, note("left").then(nothing, nothing));
  alarm.close();
}

async function endsWithin(ms: number, work: Promise<void>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const cancel = hostClock.after(ms, () => resolve(false));
  void work.then(() => resolve(true));
  try {
    return await promise;
  } finally {
    cancel();
  }
}
