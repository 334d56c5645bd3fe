/** How deep and how large a value may be that is encoded. */
import { describe, expect, it } from "vitest";
import { decode, encode } from "../../../src/core/codec/codec.ts";
import { containerKinds, nested, roundTrip, shapeOf } from "./rich-values.ts";

const mebibyte = 1024 * 1024;

describe("encode", () => {
  it("takes 1,000 levels and no more", () => {
    expect(shapeOf(roundTrip(nested("object", 1_000)))).toEqual(shapeOf(nested("object", 1_000)));
    expect(() => encode(nested("object", 1_001), { what: "the input" })).toThrow(
      expect.objectContaining({
        code: "too_deep",
        message: `the input is nested more than 1000 levels deep, at $${".a".repeat(49)}.….${"a.".repeat(49)}a`,
        details: expect.objectContaining({ limit: 1_000 }),
      }),
    );
  });

  it.each(containerKinds)("refuses 100,000 levels of %s without overflowing the stack", (kind) => {
    expect(() => encode(nested(kind, 100_000))).toThrow(expect.objectContaining({ code: "too_deep" }));
  });

  it("takes 1 MiB of UTF-8 and no byte more", () => {
    const text = "é".repeat(mebibyte / 2 - 2); // with the prefix and two quotes one byte short
    expect(decode(encode(text))).toBe(text);
    expect(encode(`${text}a`)).toHaveLength(mebibyte / 2 + 2);
    expect(() => encode(`${text}é`, { what: "the input" })).toThrow(
      expect.objectContaining({
        code: "value_too_large",
        message: "the input is too large: 1048577 bytes, where 1048576 are allowed",
        details: { limit: mebibyte, size: mebibyte + 1 },
      }),
    );
  });

  it("takes an integer of as many digits as fit", () => {
    const integer = 10n ** 300_000n;
    expect(decode(encode(integer))).toBe(integer);
    expect(decode(encode(-integer))).toBe(-integer);
  });

  it("takes other limits", () => {
    expect(encode([[]], { maxDepth: 2 })).toBe("1[[]]");
    expect(() => encode([[[]]], { maxDepth: 2 })).toThrow("the value is nested more than 2 levels deep, at $[0][0]");
    expect(encode("abc", { maxBytes: 6 })).toBe('1"abc"');
    expect(() => encode("abcd", { maxBytes: 6 })).toThrow("7 bytes, where 6 are allowed");
  });

  it.each<[string, unknown]>([
    ["one long text", "a".repeat(5 * mebibyte)],
    ["many texts", Array.from({ length: 100 }, () => "a".repeat(100_000))],
    ["a text whose JSON is longer than a text can be", "\u0000".repeat(100 * mebibyte)],
    ["bytes", new Uint8Array(8 * mebibyte)],
    ["one object a billion times over", Array.from({ length: 30 }).reduce<unknown>((inner) => [inner, inner], [])],
    [
      "a scalar a billion times over",
      Array.from({ length: 30 }).reduce<unknown>((inner) => ({ a: inner, b: inner }), 1),
    ],
    ["the holes of an array", new Array(2 ** 22)],
    ["the holes of the longest array there is", new Array(2 ** 32 - 1)],
    ["an array of numbers", Array.from({ length: 2 ** 22 }, () => 7)],
    ["an integer with a hundred million bits", 2n ** 100_000_000n],
    ["a negative one", { at: [-(2n ** 100_000_000n)] }],
    ["a set of numbers", new Set(Array.from({ length: 2 ** 22 + 1 }, (_, index) => index))],
  ])("gives up on what is far too large: %s", (_, value) => {
    expect(() => encode(value)).toThrow(
      expect.objectContaining({
        code: "value_too_large",
        message: expect.stringMatching(/^the value is too large: more than \d+ bytes, where 1048576 are allowed$/),
      }),
    );
  });
});
