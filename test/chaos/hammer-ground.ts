/** What the moves of the hunt for deadlocks know: the rows as they are right now. */
import { motionMinute } from "../../src/core/waking.ts";
import { shuffled } from "../races/by-chance.ts";
import type { Row, Session, Stage } from "../races/stage.ts";

export interface Ground {
  readonly stage: Stage;
  /** Ids that a user has given to the runs. Only one run at a time has each of them. */
  readonly ids: readonly string[];
}

export type Move = (session: Session, ground: Ground) => Promise<unknown>;

export function call(session: Session, name: string, parameter: object): Promise<readonly Row[]> {
  return session.query(`select layover.${name}($1) as answer`, [
    JSON.stringify({ namespace: "default", ...parameter }),
  ]);
}

export async function runsOf({ stage }: Ground): Promise<readonly Row[]> {
  return await stage.look(
    `select run_id as "runId", turn, token, last_position as position, is_closing as "isClosing"
       from layover.run_state where ended_at is null`,
  );
}

export async function endedRunsOf({ stage }: Ground): Promise<readonly Row[]> {
  return await stage.look(
    `select t.run_id as "runId", h.path, h.occurrence
       from layover.run_state t left join layover.record h on h.run_id = t.run_id and h.epoch = t.epoch and h.position = 1
      where t.ended_at is not null or t.blocked is not null`,
  );
}

/**
 * Reads the branches that may be claimed. A branch that waits for a slot of its map is left out: nobody dispatches it.
 */
export async function branchesOf({ stage }: Ground): Promise<readonly Row[]> {
  return await stage.look(
    `select run_id as "runId", path, occurrence, turn, token from layover.pending
      where kind = 'branch' and position is null and not is_queued`,
  );
}

export function armed(): number[] {
  return [motionMinute(Date.now())];
}

/** Picks up to eight of the items, in any order. */
export function some<Item>(items: readonly Item[]): Item[] {
  return shuffled(items).slice(0, 1 + Math.floor(Math.random() * 8));
}
