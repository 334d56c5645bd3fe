/**
 * What must hold of the schedules in the end: each change of a row is one that the reference of the simulation expects, so
 * no instant is left out but as the schedule says; and just those runs are there that these changes were to start.
 */
import { decode } from "../../src/core/codec/codec.ts";
import { differences, latestMs } from "../simulation/schedules/court.ts";
import {
  declared,
  type Expected,
  fired,
  paused,
  type Row,
  resumed,
  triggered,
} from "../simulation/schedules/reference.ts";
import type { Change, StartedRun } from "./schedule-log.ts";

/** Somebody asked that a schedule starts a run now. */
export interface Triggered {
  readonly runId: string;
  readonly ignoresOverlap: boolean;
  /** Whether they were told that it is done. Otherwise it was refused, or never answered. */
  readonly isDone: boolean;
}

export interface ScheduleEvidence {
  readonly changes: readonly Change[];
  readonly runs: readonly StartedRun[];
  readonly triggers: readonly Triggered[];
  /** The names of the schedules that the code declares. */
  readonly declared: readonly string[];
  /** The database's time in the end. */
  readonly now: number;
  /** Undefined: nobody has set the database's clock. */
  readonly setBack: SetBack | undefined;
}

/** The database's clock was set back. */
export interface SetBack {
  /** When, by the new time. */
  readonly at: number;
  readonly byMs: number;
}

/** How long after the end of a run, by its own row, another transaction may still have seen it at work. */
const unseenMs = 5_000;
/** How long after the clock was set back a call may come that has armed its alarms by the old time. */
const armedBeforeMs = 60_000;
/** How long after its start a run is over at the latest: it sleeps for 80 s, and the scheduler may look at it late, twice. */
const overMs = 80_000 + 2 * latestMs;

/** One sentence for each thing that is not as it must be; none if all is well. */
export function scheduleFaults(evidence: ScheduleEvidence): readonly string[] {
  const { changes, triggers, setBack } = evidence;
  const faults: string[] = [];
  const wanted = new Set<string>();
  const askedFor = new Map(triggers.map((each) => [each.runId, each]));
  for (const change of changes) {
    const { wrongs, runs } = judge(change, askedFor, setBack);
    faults.push(...wrongs.map((wrong) => `of the schedule ${change.name}: ${wrong}`));
    for (const id of runs) {
      if (wanted.has(id)) faults.push(`the run ${id} is to start, and was there`);
      wanted.add(id);
    }
  }
  for (const { runId, isDone } of triggers)
    if (isDone && ![...wanted].some((id) => id.endsWith(`@${runId}`)))
      faults.push(`somebody was told that the run ${runId} was started, and it was not`);
  return [...faults, ...runFaults(evidence, wanted), ...endFaults(evidence)];
}

/** Compares a change with each that may have been meant, and answers what the nearest one says. */
function judge(
  change: Change,
  askedFor: ReadonlyMap<string, Triggered>,
  setBack: SetBack | undefined,
): { readonly wrongs: readonly string[]; readonly runs: readonly string[] } {
  const { was, is, now } = change;
  if (is === null) return { wrongs: ["it is gone"], runs: [] };
  const isArmedBefore = setBack !== undefined && now >= setBack.at && now < setBack.at + armedBeforeMs;
  const armedAt = isArmedBefore ? now + setBack.byMs : now;
  let nearest: { readonly wrongs: readonly string[]; readonly runs: readonly string[] } | undefined;
  for (const expected of expectations(change, is, askedFor)) {
    const wrongs = [...differences(expected, is, was ?? undefined, armedAt)];
    if (nearest === undefined || wrongs.length < nearest.wrongs.length) nearest = { wrongs, runs: expected.runs };
  }
  return nearest ?? { wrongs: ["it was triggered, and nobody has asked for that"], runs: [] };
}

/** The changes that a call may stand for. It read the time, and whether a run is at work, a little earlier. */
function* expectations(
  { was, began, now, lastEnded }: Change,
  is: Row,
  askedFor: ReadonlyMap<string, Triggered>,
): Generator<Expected> {
  if (was === null) {
    for (const at of [now, began]) yield declared(undefined, { ...is, now: at });
    return;
  }
  if (is.isPaused !== was.isPaused) {
    yield is.isPaused ? paused(was) : resumed(was);
    return;
  }
  const mayHaveBeenAtWork = !was.isAtWork && lastEnded !== null && lastEnded > began - unseenMs;
  for (const isAtWork of mayHaveBeenAtWork ? [false, true] : [was.isAtWork]) {
    const row = { ...was, isAtWork };
    if (is.last === was.last && is.lastRun !== was.lastRun) {
      const trigger = askedFor.get(is.lastRun ?? "");
      if (trigger !== undefined) yield triggered(row, trigger.runId, trigger.ignoresOverlap);
    } else {
      for (const at of [now, began]) yield fired(row, at, false);
    }
  }
}

/** Just these runs have started, and each has written its own instant. */
function runFaults({ runs, now }: ScheduleEvidence, wanted: ReadonlySet<string>): readonly string[] {
  const started = new Set(runs.map(({ id }) => id));
  return [
    ...[...wanted].filter((id) => !started.has(id)).map((id) => `the run ${id} did not start`),
    ...[...started].filter((id) => !wanted.has(id)).map((id) => `the run ${id} started`),
    ...runs.flatMap(({ id, createdAt, status, blocked, result }) => {
      if (status !== "completed")
        return blocked !== null || now - createdAt > overMs ? [`the run ${id} is ${status} (${blocked})`] : [];
      const at: unknown = Reflect.get(Object(decode(result ?? "")), "at");
      const instant = id.slice(id.lastIndexOf("@") + 1, -1);
      return !id.endsWith("Z") || String(at).startsWith(instant) ? [] : [`the run ${id} has written ${String(at)}`];
    }),
  ];
}

/** Nothing is left to do: each schedule is there and goes on, and what was due is fired. */
function endFaults({ changes, declared, now }: ScheduleEvidence): readonly string[] {
  const last = new Map(changes.map(({ name, is }) => [name, is]));
  return declared.flatMap((name) => {
    const row = last.get(name);
    if (row == null) return [`the schedule ${name} is not there`];
    if (row.isPaused) return [`${name} is paused in the end`];
    if (row.due === null) return [`${name} has an instant to come, and nobody looks at it`];
    const fires = row.fires ?? Number.POSITIVE_INFINITY;
    return fires < now - latestMs
      ? [`${name} was to fire at ${new Date(fires).toISOString()}, and has not at ${new Date(now).toISOString()}`]
      : [];
  });
}
