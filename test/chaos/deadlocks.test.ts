import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeEachPostgres } from "../postgres/database.ts";
import { stageOn } from "../races/stage.ts";
import { hammer } from "./hammer.ts";
import { moves } from "./hammer-moves.ts";

const folder = join(import.meta.dirname, "../../src/postgres/calls");
const calls = globSync("*.ts", { cwd: folder })
  .map((file) => readFileSync(join(folder, file), "utf8"))
  .join("\n");
/** These take no lock on a row. */
const readers = [
  ...["read_clock", "list_due", "get_run", "get_history", "list_runs", "read_callback", "read_page"],
  ...["check_key", "list_keys", "diagnose"],
];

test("every function that locks rows takes part in the hunt", () => {
  const called = [...calls.matchAll(/\.(?:call|armedCall|send)(?:<\w+>)?\(\s*"(\w+)"/g)].map(([, name]) => name ?? "");
  expect(called.length).toBeGreaterThan(15);
  expect(Object.keys(moves)).toEqual(expect.arrayContaining(called.filter((name) => !readers.includes(name))));
});

describeEachPostgres(
  "any two functions on the same few runs",
  (database) => {
    const stage = stageOn(database, {
      isInRealTime: true,
      breaks: ["a signal is taken once, by a record of its kind with its payload"],
    });

    test("never deadlock, and never fail", { timeout: 120_000 }, async () => {
      expect(await hammer({ stage, rounds: 3 })).toEqual([]);
    });
  },
  { perTest: true },
);
