/** Finishes of runs that owe undos: the one that closes a run, the one that says how it ends, and the one that ends it. */
import type * as wire from "../../src/postgres/wire.ts";
import { aRecord, noon, type Run, terms } from "./runs.ts";
import type { Session, Stage } from "./stage.ts";

interface EndOptions {
  readonly token?: string;
  readonly position?: number;
  /** The time of its last record. */
  readonly at?: number;
  readonly next?: "failed" | "cancelled";
}

/** What a turn says whose handler has failed after the step `x`, and whose run owes the undo of that step. */
export function anEnd({ token = "first", position = 0, at = noon, next = "failed" }: EndOptions = {}) {
  const value = JSON.stringify({ next, error: "0{}", owed: [{ path: "x", occurrence: 1 }] });
  const records = [aRecord("step", "x", { at }), aRecord("ending", "", { at, value })];
  return { token, position, next: "ready" as const, records, ending: 1 };
}

interface CloseOptions extends EndOptions {
  /** The step that its handler failed after. Default: `x`. */
  readonly path?: string;
}

/** The finish of a turn whose handler has failed after the step `path`, while another step that can be undone has no record. */
export function aClose({ token = "first", position = 0, at = noon, path = "x" }: CloseOptions = {}) {
  return { token, position, next: "ready" as const, records: [aRecord("step", path, { at })], closing: true as const };
}

export const endsBy =
  (run: Run, options?: EndOptions) =>
  (session: Session): Promise<wire.FinishAnswer> =>
    run.finish(session, anEnd(options));

export const closesBy =
  (run: Run, options?: CloseOptions) =>
  (session: Session): Promise<wire.FinishAnswer> =>
    run.finish(session, aClose(options));

/** The finish of the last turn: its undo is done, and the run ends. */
export const over =
  (turn: number, position: number, next: "failed" | "cancelled") => (run: Run) => (session: Session) => {
    const records = [aRecord("step", "[undo]/x")];
    return run.finish(session, { token: `turn ${turn}`, position, next, value: "0{}", failedUndos: 0, records });
  };

/** Claims a turn, whose number its token names. */
export const claimsOn = (stage: Stage) => (run: Run, turn: number) =>
  run.claim(stage.onlooker, { turn, token: `turn ${turn}` });

/** Turns in one call. */
export const callOf =
  (name: "claim_turns" | "finish_turns", ...turns: object[]) =>
  async (session: Session) =>
    (await session.call(name, { ...terms, turns })).turns;
