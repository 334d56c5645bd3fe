/** Calls of the hunt for deadlocks that concern stored values: a few keys, which runs hold that are there, or are not any more. */
import { randomUUID } from "node:crypto";
import { pick, shuffled } from "../races/by-chance.ts";
import { call, type Move, runsOf, some } from "./hammer-ground.ts";

const keys = ["a", "b", "c", "d", "e", "f"];

/** A value that a store keeps, or one that stands in the database. */
export function aValue(): string {
  return pick(["0", ...keys.map((key) => `2stored.7.${"0".repeat(64)}.${key}`)]) ?? "0";
}

export const movesOfValues: Readonly<Record<string, Move>> = {
  hold_values: async (session, ground) => {
    const runs = [...(await runsOf(ground)).map(({ runId }) => runId), randomUUID()];
    const values = some(keys).map((key) => ({ runId: pick(runs), key, bytes: 7 }));
    await call(session, "hold_values", { values });
  },
  sweep_values: async (session) => {
    // All of them are due, whatever was done to them before.
    await session.query(
      `update layover.stored_value u set look_at = now() where (u.run_id, u.key) in (
         select o.run_id, o.key from layover.stored_value o order by o.key limit 3 for update skip locked)`,
    );
    await call(session, "sweep_values", { limit: 10 });
  },
  forget_values: async (session) => await call(session, "forget_values", { keys: shuffled(keys) }),
};
