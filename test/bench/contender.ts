/**
 * What a scenario asks of an engine: store runs, then carry them out. The two are apart, so that
 * starting is never measured with the steps.
 *
 * A contender decides nothing about time: the frame hands it the steps' body, and what is reported is
 * when the body was called.
 */

/** An empty database, and how many connections may be opened (as many turns may be in flight). */
export interface Database {
  readonly url: string;
  readonly connections: number;
}

/** The trivial work of step `step` (from 0) of any run. Its answer is the step's result. */
export type Body = (step: number) => number;

/** An engine at work in its own database. What only some scenarios ask for stands below. */
export interface Engine {
  /** Stores runs of `steps` steps each and answers their ids. Dispatches nothing. */
  start(work: { readonly runs: number; readonly steps: number }): Promise<readonly string[]>;

  /**
   * Carries out these started runs to their end, with as many calls at once as there are connections; a call carries one
   * step of one run, or of each run of a batch. Rejects if anything was refused or had to be tried again.
   */
  carryOut(runIds: readonly string[], body: Body): Promise<void>;

  close(): Promise<void>;
}

/** Whose steps of a run are carried out side by side. */
export interface FanningEngine extends Engine {
  /** How often these runs' handlers were continued after they had fanned out, on average. */
  continuations(runIds: readonly string[]): Promise<number>;
}

/** Whose runs may begin by themselves, later. */
export interface WakingEngine extends Engine {
  /** Stores runs that begin at this instant, in epoch milliseconds. */
  startAt(at: number, work: { readonly runs: number; readonly steps: number }): Promise<readonly string[]>;

  /** Resolves when these runs, which nobody dispatches, are over. */
  untilOver(runIds: readonly string[], body: Body): Promise<void>;
}

/** Whose runs may wait for a signal. */
export interface SignalledEngine extends Engine {
  /** Brings runs to where they wait for a signal, which is all that they do. */
  startWaiting(runs: number): Promise<readonly string[]>;

  /** Sends the signal; resolves when the run is over. */
  signal(runId: string): Promise<void>;
}

/** Whose runs start others, continue as new, are undone and repaired. */
export interface LongLivedEngine extends Engine {
  /** Runs one that invokes so many others side by side. Resolves when it is over. */
  invoke(others: number): Promise<void>;

  /** Runs one that invokes so many others, one after the other. Answers how long after each one's end the next step began, in ms. */
  invokeInARow(others: number): Promise<readonly number[]>;

  /** Runs one that continues as new so often, with so many steps each time. Answers how long each lap took, in ms. */
  continueAsNew(laps: number, steps: number): Promise<readonly number[]>;

  /** Runs one that fails after so many steps, all of which are undone. Answers how long the undos took, in ms. */
  undo(steps: number): Promise<number>;

  /** Runs one that fails after so many steps, and lets it go on. Answers how long the retry's call took, in ms. */
  retry(steps: number): Promise<number>;
}

export interface Contender<E extends Engine = Engine> {
  readonly name: string;
  /** Makes its tables and opens its connections. */
  prepare(database: Database): Promise<E>;
}
