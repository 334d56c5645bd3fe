/**
 * Replays a stored run with the code of its workflow, and carries nothing out: no body is called, nothing is recorded.
 * `layover replay-check`, `layover replay`, `layover upgrade` and the test kit all ask here whether code fits a history.
 */

import type { Workflow } from "../../core/contract/contract.ts";
import { LayoverError } from "../../core/errors.ts";
import { type Demand, placeName } from "../../core/replay/demand.ts";
import type { WireRecord } from "../../postgres/wire.ts";
import type { ReplayPage, ReplayRest } from "../../postgres/wire-replay.ts";
import type { Registry } from "../registry.ts";
import { describeEnd } from "../turn/ending.ts";
import { type LoadOptions, loadRun } from "./load-run.ts";
import type { LoadedRun } from "./loaded-run.ts";
import { notePendingRows } from "./note-pending-rows.ts";
import { sourceLine } from "./source-line.ts";

/** A run as the database has it, with all records of its newest epoch. */
export interface StoredRun
  extends Pick<ReplayPage, "runId" | "epoch" | "position" | "handedPosition">,
    Pick<ReplayRest, "run" | "status" | "result" | "patches"> {
  readonly records: readonly WireRecord[];
  readonly pending: readonly Pick<
    ReplayRest["pending"][number],
    "kind" | "path" | "occurrence" | "demandedAfter" | "until" | "attempts" | "position" | "isReleased"
  >[];
}

/** A demand of the handler's, as people are told of it. */
export interface Asked {
  /** `ship[3]/send` */
  readonly place: string;
  /** `step`, `sleep`, `signal`, `callback`, `child` … */
  readonly kind: Demand["wanted"]["kind"];
  /** The position of the last record that it had when it asked. */
  readonly after: number;
  /** The place in the code that asks for it: `/app/order.ts:12:8`. Undefined: nobody can tell. */
  readonly line: string | undefined;
}

/** What becomes of a stored run with this code. `asked`: what the handler asked for, in order, answered or not. */
export type ReplayVerdict = { readonly asked: readonly Asked[] } & (
  | { readonly outcome: "fits" }
  /** The run would be blocked: the code does not ask for what the history holds. */
  | {
      readonly outcome: "blocks";
      /** The last position that fits. */
      readonly position: number;
      readonly reason: string;
      /** The record that comes next there, or what the run waits for. Undefined: the code asks for something too late. */
      readonly expected: string | undefined;
      /** What the code asks for instead. */
      readonly instead: readonly Asked[];
    }
  /** The code ends otherwise than the run: sooner, later, or with another result. */
  | { readonly outcome: "ends"; readonly position: number; readonly reason: string }
);

export interface ReplayOptions extends Omit<LoadOptions, "onDemand"> {
  /** Finds what the code declares of a schedule. Default: it declares none. */
  readonly registry?: Pick<Registry, "findSchedule">;
  /** See `LoadedRun.replay`. Default: a handler that awaits something of its own is not waited for. */
  readonly patience?: () => Promise<void>;
  /** Whether the lines of the code are wanted. That costs some time at each demand. */
  readonly tellsLines?: boolean;
}

/** A replay accepts values of any size, since the run has stored them already. */
const boundless = {
  above: 0,
  mostBytes: Number.POSITIVE_INFINITY,
  memoryBytes: Number.POSITIVE_INFINITY,
  delete: async () => {},
};

export async function replayStored(
  workflow: Workflow,
  stored: StoredRun,
  { registry = noSchedules, patience = async () => {}, tellsLines = false, ...options }: ReplayOptions = {},
): Promise<ReplayVerdict> {
  const asked: Asked[] = [];
  const onDemand = (demand: Demand) => {
    const line = tellsLines ? sourceLine() : undefined;
    asked.push({ place: placeName(demand), kind: demand.wanted.kind, after: demand.demandedAfter, line });
  };
  const claimed = { runId: stored.runId, epoch: stored.epoch, run: stored.run, patches: stored.patches };
  let loaded: LoadedRun;
  try {
    const given = { ...claimed, handedPosition: Math.max(stored.handedPosition, 0) };
    loaded = await loadRun(
      { sealCallback, calls: { store: boundless }, ...options, onDemand },
      registry,
      workflow,
      given,
    );
  } catch (error) {
    return unloaded(error, stored, asked);
  }
  await loaded.replay(stored.records, patience);
  if (loaded.execution.isAwaitingForeign) await loaded.execution.awaitForeign(patience());
  notePendingRows(loaded, stored);
  return await judge(loaded, stored, asked);
}

/** Code that refuses the input fails its run in the first turn, or blocks it. */
function unloaded(error: unknown, stored: StoredRun, asked: readonly Asked[]): ReplayVerdict {
  if (!(error instanceof LayoverError)) throw error;
  if (error.code !== "invalid_input") {
    return { outcome: "blocks", position: 0, reason: error.message, expected: undefined, instead: [], asked };
  }
  return stored.status === "failed"
    ? { outcome: "fits", asked }
    : { outcome: "ends", position: 0, reason: error.message, asked };
}

async function judge(loaded: LoadedRun, stored: StoredRun, asked: readonly Asked[]): Promise<ReplayVerdict> {
  const { execution } = loaded;
  const { position, divergence } = execution;
  if (divergence !== undefined) {
    const instead = execution.pending.flatMap(
      (demand) => asked.findLast(({ place }) => place === placeName(demand)) ?? [],
    );
    return {
      outcome: "blocks",
      position,
      reason: divergence,
      expected: expectedAt(position, loaded, stored),
      instead,
      asked,
    };
  }
  const ends = (reason: string): ReplayVerdict => ({ outcome: "ends", position, reason, asked });
  const isStoredOver = ["completed", "failed", "cancelled"].includes(stored.status);
  if (!isStoredOver) {
    // What was recorded since a handler was last run on may well end the run.
    if (!execution.isOver || execution.mustCleanUp || position > stored.handedPosition)
      return { outcome: "fits", asked };
    return ends(`the code has ended, where the run was ${stored.status}`);
  }
  if (stored.status === "cancelled") return { outcome: "fits", asked }; // it may have been ended anywhere
  // Many a run fails by its timeout or its limits, wherever it stands. So has one that closes, and its history does not tell why.
  if (stored.status === "failed" && (!execution.isOver || execution.isClosing)) return { outcome: "fits", asked };
  if (!execution.isOver) {
    const rest = execution.pending.map((demand) => `${demand.wanted.kind} ${placeName(demand)}`).join(", ");
    return ends(`the run is completed, and the code goes on: it asks for ${rest === "" ? "nothing" : rest}`);
  }
  const { next, value } = await describeEnd(loaded);
  if (next !== stored.status) return ends(`the run is ${stored.status}, and the code ends as ${next}`);
  if (next === "completed" && value !== stored.result) return ends("the code returns another result than the run has");
  return { outcome: "fits", asked };
}

function expectedAt(position: number, { execution }: LoadedRun, stored: StoredRun): string | undefined {
  const record = stored.records[position];
  if (record !== undefined) return `${record[0]} ${placeName({ path: record[1], occurrence: record[2] })}`;
  const row = stored.pending.find((row) => execution.find(row.path, row.occurrence) === undefined && !row.isReleased);
  return row === undefined ? undefined : `${row.kind} ${placeName(row)}`;
}

/** No URL that a replay makes is ever told to anybody. */
function sealCallback({ path, occurrence }: { readonly path: string; readonly occurrence: number }) {
  return { url: `replay:${path}#${occurrence}`, token: `${path}#${occurrence}` };
}

const noSchedules = { findSchedule: () => undefined };
