/** What a budget of bytes leaves of a claim: some of its turns, and of a large history its first page. */
import type { ClaimTurn, PageCall } from "../../src/postgres/wire.ts";
import { findRow, findRun } from "./rules.ts";
import type { Answer, Entry, Run } from "./run.ts";
import type { World } from "./world.ts";

/** Counts the first turns that may be answered within so many bytes. One may, whatever it takes. */
export function countFitting(world: World, asked: readonly ClaimTurn[], budgetBytes: number): number {
  let bytes = 0;
  const place = asked.findIndex((turn, index) => {
    bytes += bytesOf(world, turn);
    return index > 0 && bytes > budgetBytes;
  });
  return place < 0 ? asked.length : place;
}

/**
 * Counts the bytes of what the claimer does not hold. Each value and path has 200 around it, and escaping doubles all.
 */
function bytesOf(world: World, { runId, path, have }: ClaimTurn): number {
  const run = world.runs.find(({ id }) => id === runId);
  if (run === undefined) return 0;
  const known = heldPrefix(have, run.history.length);
  const unknown = run.history.slice(known ?? 0).map(({ value }) => value);
  const history = known === null ? run.historyBytes + 200 * run.history.length + run.input.length : sizeOf(unknown);
  const mail = [...run.signals.map(({ payload: value, takenAt }) => ({ value, takenAt })), ...run.answers];
  const untaken = mail.filter(({ takenAt }) => takenAt === undefined).map(({ value }) => value);
  const paths = run.rows.map((row) => row.path);
  const { count, bytes } = run.flood ?? { count: 0, bytes: 0 };
  return 2 * (history + (path === undefined ? sizeOf([...untaken, ...paths]) + bytes + 200 * count : 0));
}

function sizeOf(values: readonly (string | null)[]): number {
  return values.reduce((sum, value) => sum + (value?.length ?? 0) + 200, 0);
}

/**
 * Picks what a claim answers of a history: all, or the first records that fit. The others are asked for with the
 * lease.
 */
export function firstPage(run: Run, after: number, through: number, budgetBytes: number | undefined): unknown[] | null {
  const isSmall = budgetBytes === undefined || 2 * (run.historyBytes + 200 * run.history.length) <= budgetBytes;
  return page(run.history.slice(after, through), isSmall ? Number.POSITIVE_INFINITY : budgetBytes);
}

/** Picks the first records that fit, one at least. */
function page(entries: readonly Entry[], budgetBytes: number): unknown[] | null {
  const sizes = entries.map((_, index) => 2 * sizeOf(entries.slice(0, index + 1).map(({ value }) => value)));
  const count = Math.max(1, sizes.filter((size) => size <= budgetBytes).length);
  return listOrNull(entries.slice(0, count).map(wireRecord));
}

export function readPage(world: World, namespace: string, call: PageCall): Answer {
  const { now } = world;
  const { runId, path, occurrence, token, epoch, after, through, budgetBytes } = call;
  const run = findRun(world, runId, namespace);
  const of = path === undefined || occurrence === undefined ? run : run && findRow(run, { path, occurrence });
  if (run === undefined || epoch !== 0 || of?.lease?.token !== token) return { outcome: "superseded", now };
  return { outcome: "read", now, records: page(run.history.slice(after, through), budgetBytes) };
}

function wireRecord({ kind, path, occurrence, isFailure, value, at, attempts }: Entry): unknown[] {
  return [kind, path, occurrence, isFailure, value, at, attempts];
}

/** Answers the position up to which the claimer has the history. Null: it has none of it. */
export function heldPrefix(have: ClaimTurn["have"], length: number): number | null {
  return have !== undefined && have.epoch === 0 && have.position <= length ? have.position : null;
}

export function listOrNull<T>(list: T[]): T[] | null {
  return list.length === 0 ? null : list;
}
