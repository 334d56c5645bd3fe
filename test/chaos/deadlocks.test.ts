import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { describeEachPostgres } from "../postgres/database.ts";
import { stageOn } from "../races/stage.ts";
import { hammer } from "./hammer.ts";
import { moves } from "./hammer-moves.ts";

/** These take no lock on a row. */
const readers = [
  ...["read_clock", "list_due", "get_run", "get_history", "list_runs", "read_callback", "read_page", "new_id"],
  ...["read_replay", "read_mail", "list_parked"],
  ...["check_key", "list_keys", "diagnose", "get_delivery", "list_deliveries", "get_schedule", "list_schedules"],
];

test("every function that locks rows takes part in the hunt", () => {
  const folder = join(import.meta.dirname, "../../src/postgres/functions");
  const entries = globSync("*/entries/*.sql", { cwd: folder }).map((file) => basename(file, ".sql"));
  expect(entries.length).toBeGreaterThan(readers.length);
  expect(Object.keys(moves)).toEqual(expect.arrayContaining(entries.filter((name) => !readers.includes(name))));
});

describeEachPostgres(
  "any two functions on the same few runs",
  (database) => {
    const stage = stageOn(database, {
      isInRealTime: true,
      breaks: ["a signal is taken once, by a record of its kind with its payload"],
    });

    test("never deadlock, and never fail", async () => {
      expect(await hammer({ stage, rounds: 3 })).toEqual([]);
    });
  },
  { isOwn: true },
);
