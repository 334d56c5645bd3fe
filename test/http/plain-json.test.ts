import { describe, expect, it } from "vitest";
import { Unreadable } from "../../src/client/unreadable.ts";
import { toJson } from "../../src/http/plain-json.ts";

describe("toJson", () => {
  it.each([
    ["a date", new Date(0), "1970-01-01T00:00:00.000Z"],
    ["an invalid date", new Date(Number.NaN), null],
    ["a bigint", 2n ** 70n, "1180591620717411303424"],
    [
      "a map",
      new Map<unknown, unknown>([
        ["a", new Date(0)],
        [1, undefined],
      ]),
      [
        ["a", "1970-01-01T00:00:00.000Z"],
        [1, null],
      ],
    ],
    ["a set", new Set([1, new Set([2n])]), [1, ["2"]]],
    ["a URL", new URL("https://example.com/a b"), "https://example.com/a%20b"],
    ["bytes", new Uint8Array([255, 0]), "/wA="],
    ["an array buffer", new Uint8Array([1]).buffer, "AQ=="],
    ["what JSON has no number for", [Number.NaN, Number.POSITIVE_INFINITY], [null, null]],
    ["undefined in an object and in an array", { a: undefined, b: [undefined, 1] }, { b: [null, 1] }],
    [
      "an error",
      Object.assign(new TypeError("no", { cause: "why" }), { card: 1n }),
      { name: "TypeError", message: "no", cause: "why", card: "1" },
    ],
    ["what cannot be read", { input: new Unreadable("damaged") }, { input: { unreadable: "damaged" } }],
  ])("renders %s", (_, value, json) => expect(toJson(value)).toEqual(json));

  it("keeps a key __proto__ a key", () => {
    expect(JSON.stringify(toJson(JSON.parse('{"__proto__":{"a":1},"b":2}')))).toBe('{"__proto__":{"a":1},"b":2}');
  });

  it("shows no stack and no sign of a zero", () => {
    expect(JSON.stringify(toJson({ error: new Error("no"), zero: -0 }))).toBe(
      '{"error":{"name":"Error","message":"no"},"zero":0}',
    );
  });
});
