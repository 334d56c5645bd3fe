import { expect, test } from "vitest";
import { Patches } from "../../../src/core/replay/patches.ts";

test("a change is met where no code was before, and nowhere else", () => {
  const patches = new Patches();
  patches.note([{ path: "kept", position: 4 }]);
  expect(patches.ask("kept", 3, false)).toBe(false);
  expect(patches.ask("kept", 4, true)).toBe(true);
  expect(patches.ask("passed", 5, true)).toBe(false);
  expect(patches.ask("new", 6, false)).toBe(true);
  expect(patches.ask("scope/new", 7, true)).toBe(false);
  expect(patches.ask("new", 7, true)).toBe(true);
  expect(patches.take()).toEqual([{ path: "new", position: 6 }]);
  expect(patches.take()).toEqual([]);
});
