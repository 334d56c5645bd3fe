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

/** An engine at work in its own database. A scenario that needs another verb adds it here. */
export interface Engine {
  /** Stores runs of `steps` steps each and answers their ids. Dispatches nothing. */
  start(work: { readonly runs: number; readonly steps: number }): Promise<readonly string[]>;

  /**
   * Carries out these started runs to their end, one step of one run per turn, with as many turns at
   * once as there are connections. Rejects if anything was refused or had to be tried again.
   */
  carryOut(runIds: readonly string[], body: Body): Promise<void>;

  close(): Promise<void>;
}

export interface Contender {
  readonly name: string;
  /** Makes its tables and opens its connections. */
  prepare(database: Database): Promise<Engine>;
}
