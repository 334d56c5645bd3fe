/** What must hold of every run in the end, whatever has happened to it meanwhile. */
import { decode } from "../../src/core/codec/codec.ts";
import type { Effect } from "./effects.ts";
import { failure, late, notes, Output, refusal, tidy, undoPath } from "./errand.ts";
import type { Errand } from "./outside.ts";
import { tripPath } from "./trip.ts";
import { undoFaults } from "./undo-verdict.ts";
import type { SeenRecord, SeenRun } from "./watcher.ts";

export interface SentSignal {
  readonly name: string;
  readonly payload: string;
  readonly position: number | null;
}

export interface Evidence {
  readonly errand: Errand;
  readonly run: SeenRun | undefined;
  readonly effects: readonly Effect[];
  /** How often each body was begun, by its path: also by those that left no trace outside. */
  readonly begun: Readonly<Record<string, number>>;
  readonly signals: readonly SentSignal[];
  /** Whether somebody was told that it is cancelled. */
  readonly isCancelled: boolean;
}

/**
 * Right as well: its processes have died (or frozen, or found no database in the end) at one step so often that it was
 * failed instead of being tried once more. Only one that was really begun again and again may say so.
 */
export function isWornOut({ run, begun }: Evidence): boolean {
  const [, step] = /step \W*([\w ]+)\W* was begun again and again/.exec(run?.error ?? "") ?? [];
  return Object.entries(begun).some(([path, times]) => path.split("/").at(-1) === step && times >= leastBodies);
}

/** Five times alone, of which one may have died between its beginning and its body. Those before may all have died earlier. */
const leastBodies = 4;

/** One sentence for each thing that is not as it must be; none if all is well. */
export function faultsOf(evidence: Evidence): string[] {
  const { errand, run, effects, signals, isCancelled } = evidence;
  if (run === undefined) return ["was started, and is not there"];
  const undos = undoFaults(errand.fails, run, effects);
  if (isCancelled) return [...cancelFaults(run, evidence), ...undos];
  const status = errand.fails ? "failed" : "completed";
  if (run.status !== status) {
    const why = run.blocked ?? run.error;
    return [`is ${run.status}${why === null ? "" : ` (${why})`}, not ${status}`];
  }
  return [
    ...undos,
    ...historyFaults(run.records),
    ...effectFaults(pathsOf(errand.parcels.length), run.records, effects),
    ...signalFaults(run.records, signals),
    ...(errand.fails ? errorFaults(run) : resultFaults(errand, run)),
  ];
}

/** It cleaned up, and did nothing else once it was told. One that nobody had claimed yet is told nothing, and has done nothing. */
function cancelFaults(run: SeenRun, { effects, begun, signals }: Evidence): string[] {
  const { status, blocked, records } = run;
  if (status !== "cancelled") return [`is ${status}${blocked === null ? "" : ` (${blocked})`}, not cancelled`];
  if (records.length + effects.length + Object.keys(begun).length === 0) return [];
  const closing = records.find(({ kind }) => kind === "closing");
  const after = records.filter(({ position }) => position > (closing?.position ?? 0));
  const done = records.flatMap(({ kind, path, isFailure }) => (kind === "step" && !isFailure ? [path] : []));
  return [
    ...historyFaults(records),
    ...(closing === undefined ? ["was not told of its cancel"] : []),
    ...after.filter((record) => !mayFollowCancel(record)).map(({ path }) => `recorded ${path} after its cancel`),
    ...(records.some(({ path }) => path === tidy) ? [] : ["did not clean up"]),
    ...effectFaults([...new Set(done)], records, effects),
    ...takenFaults(records, signals),
  ];
}

function mayFollowCancel({ kind, path }: SeenRecord): boolean {
  return path === tidy || kind === "ending" || kind === "child" || path.startsWith(undoPath(""));
}

function errorFaults({ error }: SeenRun): string[] {
  const message: unknown = Reflect.get(Object(decode(error ?? "")), "message");
  return message === failure ? [] : [`has the error ${error}`];
}

function historyFaults(records: readonly SeenRecord[]): string[] {
  const positions = records.map(({ position }) => position);
  const places = records.flatMap(({ path, occurrence }) => (path === "" ? [] : [`${path}#${occurrence}`]));
  const times = records.map(({ recordedAt }) => recordedAt);
  return [
    ...(positions.every((position, index) => position === index + 1) ? [] : [`has the positions ${positions.join()}`]),
    ...repeated(places).map((place) => `has recorded ${place} twice`),
    ...(times.every((time, index) => index === 0 || time >= (times[index - 1] ?? "")) ? [] : ["goes back in time"]),
  ];
}

/** Each body ran, each result that was kept is one that a body gave, and whoever looked back saw just these. */
function effectFaults(paths: readonly string[], records: readonly SeenRecord[], effects: readonly Effect[]): string[] {
  const kept = new Map(records.map((record) => [record.path, record]));
  const faults: string[] = [];
  for (const path of paths) {
    const executions = effects.filter((effect) => effect.path === path);
    const record = kept.get(path);
    if (executions.length === 0) faults.push(`never ran the body of ${path}`);
    if (record === undefined) faults.push(`has no record of ${path}`);
    else if (!isAnnouncement(path) && !executions.some(({ value }) => value === resultIn(record)))
      faults.push(`has a result of ${path} that no body gave: ${String(resultIn(record))}`);
    if (new Set(executions.map(({ idempotencyKey }) => idempotencyKey)).size > 1)
      faults.push(`has several idempotency keys for ${path}`);
    if (new Set(executions.map(({ token }) => token)).size > 1) faults.push(`has several tokens for ${path}`);
    if (new Set(executions.map(({ seen }) => JSON.stringify(seen))).size > 1)
      faults.push(`saw another past at another execution of ${path}`);
  }
  const results = new Set(records.map(resultIn).flatMap((value) => [value, codeOf(value)]));
  for (const { path, seen } of effects) {
    const alien = seen.find((value) => value !== late && !results.has(value));
    if (alien !== undefined) faults.push(`saw at ${path} what was never recorded: ${alien}`);
  }
  return faults;
}

/** Each note once, in order; `hurry` once where it won the race, else never. */
function signalFaults(records: readonly SeenRecord[], signals: readonly SentSignal[]): string[] {
  const sent = signals.filter(({ name }) => name === "note").map(({ payload }) => Number(decode(payload)));
  const faults = takenFaults(records, signals);
  return sent.toSorted().join() === notes.join() ? faults : [`has stored the notes ${sent.join()}`, ...faults];
}

/** Each signal that was sent is taken once. */
function takenFaults(records: readonly SeenRecord[], signals: readonly SentSignal[]): string[] {
  const taken = signals.filter(({ position }) => position !== null);
  const faults = repeated(taken.map(({ position }) => String(position))).map(
    (position) => `took two signals at position ${position}`,
  );
  for (const { name, payload, position } of taken) {
    const record = records.find((candidate) => candidate.position === position);
    if (record?.kind !== "signal" || record.value !== payload)
      faults.push(`has taken ${name} ${payload} at position ${position}, where it has ${JSON.stringify(record)}`);
  }
  const recorded = records.filter(({ kind, value }) => kind === "signal" && value !== null);
  if (recorded.length !== taken.length)
    faults.push(`has ${recorded.length} signals in its history, ${taken.length} taken`);
  return faults;
}

function resultFaults({ parcels, code, hurry }: Errand, run: SeenRun): string[] {
  const result = Output.safeParse(decode(run.result ?? ""));
  if (!result.success) return [`has the result ${run.result}`];
  const valueAt = (path: string) => String(resultIn(run.records.find((record) => record.path === path)));
  const { hurry: won, ...rest } = result.data;
  const expected = {
    first: valueAt("first"),
    flaky: valueAt("flaky"),
    notes: [...notes],
    approval: code,
    sent: parcels.map((_, index) => valueAt(`ship[${index}]/send`)),
    beside: [valueAt("left"), valueAt("right")],
    trip: valueAt(tripPath),
    refused: refusal,
    last: valueAt("last"),
  };
  const faults = isSame(rest, expected) ? [] : [`has the result ${run.result}, not ${JSON.stringify(expected)}`];
  if (won !== late && won !== hurry) faults.push(`has the winner ${won}`);
  return faults;
}

function pathsOf(parcels: number): string[] {
  const ship = Array.from({ length: parcels }, (_, index) => `ship[${index}]/send`);
  return ["first", "flaky", "approval/announce", "ship[0]/pack", ...ship, "left", "right", tripPath, "last", tidy];
}

function isAnnouncement(path: string): boolean {
  return path === "approval/announce";
}

function resultIn(record: SeenRecord | undefined): unknown {
  return record === undefined || record.value === null || record.kind === "ending" ? undefined : decode(record.value);
}

function codeOf(value: unknown): unknown {
  return typeof value === "object" && value !== null && "code" in value ? value.code : undefined;
}

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}

function isSame(one: object, other: object): boolean {
  const sorted = (value: object) => JSON.stringify(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return sorted(one) === sorted(other);
}
