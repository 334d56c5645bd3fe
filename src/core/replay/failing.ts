/**
 * What failed a run, for whoever retries it: the record whose error ended the handler, and whether something that succeeded
 * afterwards came about through a failure. A retry forgets the failures and keeps every success, so it must not hand a
 * success to code that never asked for it. Nor may an answer to a callback of the failure answer another callback of its name.
 */
import { toErrorValue } from "../codec/error-value.ts";
import { fromStored } from "../codec/stored-value.ts";
import { placeName, type Wanted } from "./demand.ts";
import type { HistoryRecord } from "./history.ts";
import { lastingPart } from "./seeded.ts";

/** What the last finish of a failed run tells about its failure. */
export interface Failure {
  /** The position of the record that failed the run. Left out: an error of the handler's own did. */
  readonly at?: number;
  /** The positions of the waits after it that threw when they timed out. */
  readonly timeouts: readonly number[];
  /** The positions, from `at` on, of the steps that are done, or may be, and whose result is lost. */
  readonly lost: readonly number[];
  /** The first twenty successes and callbacks that came of the failure. If there is any, the run is not retried, since they cannot be kept. */
  readonly repeats: readonly { readonly path: string; readonly occurrence: number }[];
  /**
   * The runs for which it would wait again after a retry: the parts of their ids that stay the same (`lastingPart`). Left
   * out by code of an earlier release.
   */
  readonly children?: readonly string[];
}

/** The cause for which a run failed: the error that its handler has thrown, or the position of the failed record. No position: the handler's own error. */
export type FailedBy = { readonly thrown: unknown } | { readonly at: number | undefined };

/** A run that the handler had asked for, and whose end is not in the history. */
export interface OpenChild {
  readonly runId: string;
  /** The position that decided the race which it has lost. Undefined: the handler waits for it still. */
  readonly leftAt?: number;
}

/** The runs among what the handler waits for. */
export function openChildren(pending: readonly { readonly wanted: Wanted }[]): readonly OpenChild[] {
  return pending.flatMap(({ wanted }) => (wanted.kind === "child" ? [{ runId: wanted.runId(undefined) }] : []));
}

interface Asked {
  readonly path: string;
  readonly occurrence: number;
  /** The last position handed out when it was asked for. Undefined: the handler had not asked for it. */
  readonly demandedAfter: number | undefined;
}

interface Handed extends Asked {
  /** Whether a retry forgets it, if it comes after the record that failed the run. */
  readonly isLost: boolean;
  readonly hasTimedOut: boolean;
  readonly isResultLost: boolean;
  /** The id of the run whose end it is. */
  readonly child: string | undefined;
}

const mostRepeats = 20;
const deepestCause = 100;

export class Failing {
  /** The records in the order of their positions, from 1. */
  readonly #handed: Handed[] = [];
  readonly #errors = new Map<unknown, number>();
  /** The prefix of each room, and the position at which it was opened. */
  readonly #rooms = new Map<string, number>();
  /** The callbacks that the handler has made. Their URLs may be known to people. */
  readonly #callbacks: Asked[] = [];

  /** Notes the next record, and the error by which it settled its demand. `wanted`: what that asked for. */
  note(record: HistoryRecord, demandedAfter: number | undefined, error: unknown, wanted?: Wanted): void {
    const { path, occurrence, value, isFailure } = record;
    const hasTimedOut = error !== undefined && value === null;
    const isLost = isFailure || hasTimedOut;
    const child = wanted?.kind === "child" ? wanted.runId(undefined) : undefined;
    this.#handed.push({
      path,
      occurrence,
      demandedAfter,
      isLost,
      hasTimedOut,
      isResultLost: isResultLost(record),
      child,
    });
    if (error !== undefined) this.#errors.set(error, this.#handed.length);
  }

  /** Notes that the handler has made a callback. */
  noteCallback({ path, occurrence }: Omit<Asked, "demandedAfter">): void {
    this.#callbacks.push({ path, occurrence, demandedAfter: this.#handed.length });
  }

  /** Notes that the names below a prefix belong to a flow of their own from now on. */
  openRoom(prefix: string): void {
    if (!this.#rooms.has(prefix)) this.#rooms.set(prefix, this.#handed.length);
  }

  /** `open`: the runs whose ends are not in the history. */
  describe(by: FailedBy, open: readonly OpenChild[]): Failure {
    const at = "thrown" in by ? this.#origin(by.thrown, new Set()) : by.at;
    const children = this.#childrenAfter(at ?? this.#handed.length + 1, open).map(lastingPart);
    if (at === undefined) return { timeouts: [], lost: [], repeats: [], children };
    const later = this.#handed.slice(at);
    const timeouts = later.flatMap(({ hasTimedOut }, index) => (hasTimedOut ? [at + 1 + index] : []));
    const dirty = this.#dirtyRooms(at);
    const kept: readonly Asked[] = [...later.filter(({ isLost }) => !isLost), ...this.#callbacks];
    const repeats = new Map(
      kept
        .filter((one) => !this.#isIndependent(one, at, dirty))
        .map(({ path, occurrence }) => [placeName({ path, occurrence }), { path, occurrence }]),
    );
    return {
      at,
      timeouts,
      lost: this.#handed.flatMap(({ isResultLost }, index) => (isResultLost && index + 1 >= at ? [index + 1] : [])),
      repeats: [...repeats.values()].slice(0, mostRepeats),
      children,
    };
  }

  /** The runs whose ends are forgotten, those that it waits for, and those that lost a race to something that is forgotten. */
  #childrenAfter(at: number, open: readonly OpenChild[]): readonly string[] {
    const isForgotten = (position: number) => position >= at && this.#handed[position - 1]?.isLost === true;
    return [
      ...this.#handed.flatMap(({ child }, index) => (child !== undefined && isForgotten(index + 1) ? [child] : [])),
      ...open.flatMap(({ runId, leftAt }) => (leftAt === undefined || isForgotten(leftAt) ? [runId] : [])),
    ];
  }

  /** Finds the first record among those whose error was thrown, or caused what was thrown. */
  #origin(thrown: unknown, seen: Set<unknown>): number | undefined {
    const at = this.#errors.get(thrown);
    if (at !== undefined || !(thrown instanceof Error) || seen.has(thrown) || seen.size > deepestCause) return at;
    seen.add(thrown);
    const causes = [thrown.cause, ...(thrown instanceof AggregateError ? thrown.errors : [])];
    const origins = causes.flatMap((cause) => this.#origin(cause, seen) ?? []);
    return origins.length === 0 ? undefined : Math.min(...origins);
  }

  /** The rooms that stood open, and in which something is forgotten. */
  #dirtyRooms(at: number): ReadonlySet<string> {
    const lost = this.#handed.filter(({ isLost }, index) => isLost && index + 1 >= at);
    return new Set([...this.#rooms.keys()].filter((prefix) => lost.some(({ path }) => path.startsWith(prefix))));
  }

  /**
   * Whether a success or a callback came about without what is forgotten: the handler had asked for it before; or it lies in a room that
   * stood open before and forgets nothing, and what led to it is kept.
   */
  #isIndependent({ path, demandedAfter }: Asked, at: number, dirty: ReadonlySet<string>): boolean {
    if (demandedAfter === undefined || demandedAfter < at) return true;
    if (this.#handed[demandedAfter - 1]?.isLost !== false) return false;
    return [...this.#rooms].some(
      ([prefix, openedAt]) => openedAt < at && path.startsWith(prefix) && !dirty.has(prefix),
    );
  }
}

/** Whether a step is done, or may be, and nobody knows its result. The loser of a race may be one, too. */
function isResultLost({ kind, path, isFailure, value }: HistoryRecord): boolean {
  if (kind !== "step" || !isFailure || value === null) return false;
  try {
    const { code } = toErrorValue(fromStored(value, `the record of ${path}`));
    return code === "result_lost" || code === "interrupted";
  } catch {
    return false; // a value that cannot be decoded: the run is blocked
  }
}
