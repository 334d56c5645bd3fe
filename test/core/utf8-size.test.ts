import { expect, test } from "vitest";
import { utf8Size } from "../../src/core/utf8-size.ts";

test.each([
  ["nothing", "", 0],
  ["letters", "charge", 6],
  ["a letter with an accent", "é", 2],
  ["a sign of three bytes", "字", 3],
  ["a pair of units", "🚂", 4],
  ["half a pair, which is written as a sign of three bytes", "\ud83d".toWellFormed(), 3],
])("counts the bytes of %s, short or long", (_, text, bytes) => {
  expect(utf8Size(text)).toBe(bytes);
  expect(utf8Size(text.repeat(1_000))).toBe(bytes * 1_000);
});
