/** What a process keeps in memory of runs at rest is bounded in bytes too. */
import { expect, test } from "vitest";
import { Execution } from "../../src/core/replay/execution.ts";
import { Segments } from "../../src/core/replay/segments.ts";
import { LoadedRun } from "../../src/engine/replay/loaded-run.ts";
import { WarmRuns } from "../../src/engine/replay/warm-runs.ts";
import { tested } from "./playing.ts";

const mebibyte = 1024 * 1024;

function aLoadedRun(runId: string, bytes: number): LoadedRun {
  const execution = new Execution({ atRest: async () => {}, beginsAt: 0 });
  const workflow = tested.handler(async () => {});
  const segments = new Segments([{ from: 0, at: 0, run: runId, epoch: 0 }]);
  return new LoadedRun({ runId, epoch: 0, workflow, execution, segments, handedPosition: 0, bytes });
}

test("of 60 runs of 12 MiB those that went to rest last are kept, 64 MiB together", () => {
  const warm = new WarmRuns(1_000, 64 * mebibyte);
  for (let number = 1; number <= 60; number += 1) warm.keep(aLoadedRun(`${number}`, 12 * mebibyte));
  const kept = Array.from({ length: 60 }, (_, index) => `${index + 1}`).filter((id) => warm.take(id) !== undefined);
  expect(kept).toEqual(["56", "57", "58", "59", "60"]);
});

test("what was taken or forgotten counts no longer, and what is larger than all room is not kept", () => {
  const warm = new WarmRuns(1_000, 10);
  warm.keep(aLoadedRun("a", 6));
  expect(warm.take("a")).toBeDefined();
  warm.keep(aLoadedRun("b", 6));
  warm.forget("b");
  warm.keep(aLoadedRun("c", 6));
  warm.keep(aLoadedRun("d", 4));
  expect([warm.take("c"), warm.take("d")].every((loaded) => loaded !== undefined)).toBe(true);
  warm.keep(aLoadedRun("e", 11));
  expect(warm.take("e")).toBeUndefined();
});
