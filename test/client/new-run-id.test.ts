import { expect, test } from "vitest";
import { newRunId } from "../../src/client/new-run-id.ts";

test("run ids sort by the database's time, and within a millisecond as they were made", () => {
  const ids = [1_000, 1_000, 1_000, 1_001, 1_001, 2_000].map((msecs) => newRunId(msecs));
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.every((id) => id[14] === "7")).toBe(true);
});

test("a clock that steps back makes ids of its time again", () => {
  const later = newRunId(9_000);
  expect(newRunId(5_000) < later).toBe(true);
});
