/**
 * The segments of a history. A run that was restarted, retried or forked goes on from a history that others have begun:
 * what it asks for from then on reckons from another instant, and draws from another seed, than what was asked for before.
 */
import { lastingPart } from "./seeded.ts";

export interface Segment {
  /** The first position beyond which this counts: what is asked for when so many records were handed out, or more. */
  readonly from: number;
  /** The instant from which waits reckon at the earliest, in epoch milliseconds. */
  readonly at: number;
  /** The run and the epoch of the seed. */
  readonly run: string;
  readonly epoch: number;
  /** How many milliseconds longer that waits which was asked for before, and still waits. */
  readonly shift?: number;
  /** The runs that it may wait for again after a retry. Left out where there was no retry, or a release before has made it. */
  readonly runs?: readonly string[];
}

export class Segments {
  readonly #list: readonly [Segment, ...Segment[]];
  readonly #runs: ReadonlyMap<string, string>;

  constructor(list: readonly [Segment, ...Segment[]]) {
    this.#list = list;
    this.#runs = new Map(list.flatMap(({ runs = [] }) => runs.map((runId) => [lastingPart(runId), runId])));
  }

  /** The segment in which something is asked for when the record at this position was handed out. */
  at(position: number): Segment {
    return this.#list.findLast(({ from }) => from <= position) ?? this.#list[0];
  }

  /**
   * The epoch to which the URL of a callback belongs that this run makes at this position. What a fork has copied, it goes
   * through itself in its first epoch, which is 1: there it makes URLs of its own.
   */
  callbackEpochAt(position: number, runId: string): number {
    const { run, epoch } = this.at(position);
    return run === runId ? epoch : firstOfFork;
  }

  /** How many records come before the first segment of this run: those that it has copied from another one. */
  countBefore(runId: string): number {
    return this.#list.find(({ run }) => run === runId)?.from ?? 0;
  }

  /** The id of a run that is invoked. A retry may ask later for a run that was there: that one has its id of before. */
  knownRun(runId: string): string {
    return this.#runs.get(lastingPart(runId)) ?? runId;
  }

  /** The segment in which the run goes on. */
  get newest(): Segment {
    return this.#list.at(-1) ?? this.#list[0];
  }

  /** How many milliseconds longer that waits which was asked for at this position. */
  shiftSince(position: number): number {
    return this.#list.reduce((sum, { from, shift = 0 }) => (from > position ? sum + shift : sum), 0);
  }
}

const firstOfFork = 1;
