import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decode, encode } from "../../../src/core/codec/codec.ts";
import { containerKinds, nested, richValue, shapeOf } from "./rich-values.ts";

const mebibyte = 1024 * 1024;

function roundTrip(value: unknown): unknown {
  return decode(encode(value));
}

describe("encode and decode", () => {
  it("give back every storable value as it was", () => {
    fc.assert(
      fc.property(richValue, (value) => {
        expect(shapeOf(roundTrip(value))).toEqual(shapeOf(value));
      }),
      { numRuns: 1_000 },
    );
  });

  it("give back all of JSON as it was", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(shapeOf(roundTrip(value))).toEqual(shapeOf(value));
      }),
    );
  });

  it("use text that Postgres can store: no control character, no lone surrogate", () => {
    fc.assert(
      fc.property(richValue, (value) => {
        const text = encode(value);
        expect([...text].every((character) => character >= " ")).toBe(true);
        expect(text.isWellFormed()).toBe(true);
      }),
    );
  });

  it.each<[unknown, string]>([
    [{ charge: "c1", ok: true, n: 1.5, none: null }, '1{"charge":"c1","ok":true,"n":1.5,"none":null}'],
    [[1, [], {}, "a\n\u0000\ud800"], '1[1,[],{},"a\\n\\u0000\\ud800"]'],
    [undefined, '1{"$":"undefined"}'],
    [{ a: undefined }, '1{"a":{"$":"undefined"}}'],
    [-0, '1{"$":"number","v":"-0"}'],
    [Number.NaN, '1{"$":"number","v":"NaN"}'],
    [Number.NEGATIVE_INFINITY, '1{"$":"number","v":"-Infinity"}'],
    ["$", '1"$"'],
    [12n, '1{"$":"bigint","v":"12"}'],
    [{ at: new Date(0) }, '1{"at":{"$":"Date","v":"1970-01-01T00:00:00.000Z"}}'],
    [new Date(Number.NaN), '1{"$":"Date","v":null}'],
    [new Map([["a", 1]]), '1{"$":"Map","v":[["a",1]]}'],
    [new Set(["a"]), '1{"$":"Set","v":["a"]}'],
    [new URL("https://layover.dev/a"), '1{"$":"URL","v":"https://layover.dev/a"}'],
    [new Uint8Array([1, 2, 255]), '1{"$":"Uint8Array","v":"AQL/"}'],
    [new Uint8Array([1, 2, 255]).buffer, '1{"$":"ArrayBuffer","v":"AQL/"}'],
    [{ $: "mine" }, '1{"$":"Object","v":{"$":"mine"}}'],
    [
      Object.assign(new TypeError("no", { cause: 5 }), { stack: "at", status: 502 }),
      '1{"$":"Error","v":{"name":"TypeError","message":"no","stack":"at","cause":5,"status":502}}',
    ],
  ])("are readable by people: %o", (value, text) => {
    expect(encode(value)).toBe(text);
    expect(shapeOf(decode(text))).toEqual(shapeOf(value));
  });

  it("make no prototype of a key named __proto__", () => {
    const value = JSON.parse('{"__proto__":{"isAdmin":true},"at":0}');
    value.at = new Date(0);
    const back = roundTrip(value);
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype);
    expect(Object.getOwnPropertyNames(back)).toEqual(["__proto__", "at"]);
    expect(Reflect.get({}, "isAdmin")).toBeUndefined();
  });

  it("give an object without a prototype the usual one", () => {
    const value = Object.assign(Object.create(null), { a: 1 });
    expect(shapeOf(roundTrip(value))).toEqual(shapeOf({ a: 1 }));
  });

  it("take an object by its own enumerable text keys", () => {
    const value = Object.defineProperty({ a: 1, [Symbol("b")]: 2 }, "hidden", { value: 3 });
    expect(shapeOf(roundTrip(value))).toEqual(shapeOf({ a: 1 }));
  });

  it("fill the holes of an array with undefined", () => {
    const holes: unknown[] = [];
    holes[2] = "a";
    expect(shapeOf(roundTrip(holes))).toEqual(shapeOf([undefined, undefined, "a"]));
  });

  it("copy an object that occurs twice", () => {
    const shared = { a: 1 };
    const back = roundTrip([shared, shared, new Map([[shared, shared]])]);
    expect(back).toEqual([shared, shared, new Map([[{ a: 1 }, { a: 1 }]])]);
    expect(Array.isArray(back) && back[0] !== back[1]).toBe(true);
  });

  it("keep an array's own length where it holds its tags' names", () => {
    expect(roundTrip(["$", "v", '"$"', new Date(0)])).toEqual(["$", "v", '"$"', new Date(0)]);
  });

  it("take Node's Buffer for the Uint8Array that it is, within its bounds", () => {
    const buffer = Buffer.from("xlayoverx").subarray(1, -1);
    expect(shapeOf(roundTrip(buffer))).toEqual(shapeOf(new Uint8Array(Buffer.from("layover"))));
  });

  it("keep megabytes of bytes", () => {
    const bytes = Uint8Array.from({ length: 700_000 }, (_, index) => index * 7);
    expect(roundTrip(bytes)).toEqual(bytes);
  });

  it("keep the name of an error's own class, and the built-in classes", () => {
    class CardDeclined extends Error {
      override readonly name = "CardDeclined";
      readonly card = "4242";
    }
    const back = roundTrip(new CardDeclined("no funds"));
    expect(back).toBeInstanceOf(Error);
    expect(back).toMatchObject({ name: "CardDeclined", message: "no funds", card: "4242" });
    expect(String(back)).toBe("CardDeclined: no funds");
    expect(roundTrip(new RangeError("far"))).toBeInstanceOf(RangeError);
  });

  it("keep what an AggregateError aggregates", () => {
    const error = new AggregateError([new TypeError("a"), "b"], "all failed", { cause: 1 });
    expect(shapeOf(roundTrip(error))).toEqual(shapeOf(error));
    expect(roundTrip(error)).toBeInstanceOf(AggregateError);
  });

  it("keep an error that has no stack or a strange message", () => {
    const error = Object.assign(new Error(), { stack: undefined, message: 5 });
    expect(roundTrip(error)).toMatchObject({ name: "Error", message: "5", stack: undefined });
  });

  it("keep what AbortSignal.timeout throws, though its class is no subclass to the eye", () => {
    expect(roundTrip(new DOMException("too slow", "TimeoutError"))).toMatchObject({
      name: "TimeoutError",
      message: "too slow",
    });
  });

  it("know the classes of another realm, such as a test runner's", () => {
    const foreign = runInNewContext(
      "({ o: { a: 1 }, list: [1], at: new Date(0), m: new Map([[1, 2]]), s: new Set([1]), b: new Uint8Array([7]), " +
        "buffer: new Uint8Array([8]).buffer, e: new TypeError('no') })",
    );
    expect(roundTrip(foreign)).toMatchObject({
      o: { a: 1 },
      list: [1],
      at: new Date(0),
      m: new Map([[1, 2]]),
      s: new Set([1]),
      b: new Uint8Array([7]),
      buffer: new Uint8Array([8]).buffer,
      e: expect.objectContaining({ name: "TypeError", message: "no" }),
    });
  });
});

describe("encode", () => {
  class Cart {
    readonly items = [1];
  }
  class Rows extends Array {}
  class Scores extends Map {}

  it.each<[string, unknown, string, string]>([
    [
      "a function",
      { items: [1, { callback: () => 1 }] },
      "$.items[1].callback",
      "Leave it out: only data can be stored.",
    ],
    ["a function", class {}, "$", "Leave it out: only data can be stored."],
    ["a symbol", [Symbol("a")], "$[0]", "Use a text instead."],
    [
      "a promise: did you forget await?",
      { "my key": Promise.resolve(1) },
      '$["my key"]',
      "Write `await` before what makes it.",
    ],
    [
      "an instance of Cart",
      { cart: new Cart() },
      "$.cart",
      "Return a plain object with the fields you need instead of the Cart.",
    ],
    ["an instance of Rows", Rows.from([1]), "$", "Return a plain copy of it: `[...rows]`, for example."],
    [
      "an instance of Scores",
      new Scores(),
      "$",
      "Return a plain object with the fields you need instead of the Scores.",
    ],
    [
      "an instance of WeakMap",
      new Map([["a", new WeakMap()]]),
      "$[0][1]",
      "Return a plain object with the fields you need instead of the WeakMap.",
    ],
    [
      "an instance of Float64Array",
      new Set([new Float64Array(1)]),
      "$[0]",
      "Return a plain copy of it: `[...rows]`, for example.",
    ],
    [
      "an instance of Number",
      { n: Object(1) },
      "$.n",
      "Return a plain object with the fields you need instead of the Number.",
    ],
    [
      "a Response: did you forget to read its body?",
      new Response("a"),
      "$",
      "Read its body first, with `await response.json()`, and return that.",
    ],
    [
      "an object with a prototype of its own",
      Object.create({ a: 1 }),
      "$",
      "Return a plain copy of it: `{ ...object }`, for example.",
    ],
    ["an instance of Generator", (function* () {})(), "$", "Return a plain copy of it: `[...rows]`, for example."],
    [
      "a function",
      Object.assign(new Error("a"), { retry: () => 1 }),
      "$.retry",
      "Leave it out: only data can be stored.",
    ],
    ["a function", new Error("a", { cause: { f: () => 1 } }), "$.cause.f", "Leave it out: only data can be stored."],
  ])("refuses %s and says where it is", (is, value, path, hint) => {
    expect(() => encode(value, { what: 'the result of step "charge"' })).toThrow(
      expect.objectContaining({
        code: "unstorable_value",
        message: `the result of step "charge" cannot be stored: ${path} is ${is}`,
        hint,
        details: { path },
      }),
    );
  });

  it("points to the JSON that an instance can make of itself", () => {
    class Decimal {
      toJSON(): string {
        return "1.50";
      }
    }
    expect(() => encode({ price: new Decimal() })).toThrow(
      expect.objectContaining({
        message: "the value cannot be stored: $.price is an instance of Decimal",
        hint: "Return what its `toJSON()` gives, or a plain object with the fields you need.",
      }),
    );
  });

  it("calls a query builder what it is: something to await", () => {
    class Query {
      // biome-ignore lint/suspicious/noThenProperty: it is what makes such builders awaitable
      then(): void {}
    }
    expect(() => encode(new Query())).toThrow("$ is a promise: did you forget await?");
  });

  it("refuses a cycle and says where it leads back to", () => {
    const root: Record<string, unknown> = { a: { b: [] } };
    const a: unknown = root["a"];
    root["list"] = [a, new Map([["a", root]])];
    expect(() => encode(root)).toThrow("the value cannot be stored: $.list[1][0][1] is a cycle back to $");
    const inner: Record<string, unknown> = {};
    inner["self"] = new Set([inner]);
    expect(() => encode({ inner })).toThrow("$.inner.self[0] is a cycle back to $.inner");
    const map = new Map();
    map.set("me", map);
    expect(() => encode([map])).toThrow("$[0][0][1] is a cycle back to $[0]");
    const error = new Error("a");
    error.cause = error;
    expect(() => encode(error)).toThrow("$.cause is a cycle back to $");
  });

  const broken = new Error("broken");
  const fail = (): never => {
    throw broken;
  };
  it.each<[string, unknown, string]>([
    ["a getter that throws", { a: [{ get b() { return fail(); } }] }, "$.a[0].b"], // biome-ignore format: short
    ["a proxy whose keys cannot be read", { a: new Proxy({}, { ownKeys: fail }) }, "$.a"],
    ["a proxy whose members cannot be read", { a: new Proxy({ b: 1 }, { get: fail }) }, "$.a.b"],
    ["a proxy whose class cannot be read", [1, new Proxy({}, { getPrototypeOf: fail })], "$[1]"],
    ["an error whose stack cannot be read", [Object.defineProperty(new Error("a"), "stack", { get: fail })], "$[0]"],
  ])("refuses %s, and keeps what was thrown", (_, value, path) => {
    expect(() => encode(value)).toThrow(
      expect.objectContaining({
        code: "unstorable_value",
        message: `the value cannot be stored: ${path} is unreadable: reading it threw an error`,
        details: { path },
        cause: broken,
      }),
    );
  });

  it("refuses a revoked proxy", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(() => encode({ proxy })).toThrow("$.proxy is unreadable");
  });

  it("refuses an object that only claims to be a Date", () => {
    class Fake {
      readonly [Symbol.toStringTag] = "Date";
    }
    expect(() => encode(new Fake())).toThrow(expect.objectContaining({ code: "unstorable_value" }));
  });

  it("refuses an object that only claims to be a URL, as it could not be read again", () => {
    class Fake {
      readonly [Symbol.toStringTag] = "URL";
    }
    expect(() => encode([new Fake()])).toThrow("$[0] is unreadable");
  });

  it("reads each getter once", () => {
    let reads = 0;
    const value = {
      get count() {
        return ++reads;
      },
    };
    expect(encode([value, new Date(0)])).toContain('{"count":1}');
    expect(reads).toBe(1);
  });

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

describe("decode", () => {
  it("reads plain JSON, as written in SQL, without looking for tags", () => {
    expect(decode('0{"$":"Date", "v":null}')).toEqual({ $: "Date", v: null });
    expect(decode("0 5")).toBe(5);
  });

  it("makes the value anew each time", () => {
    expect(decode("1{}")).not.toBe(decode("1{}"));
  });

  it.each([
    ["", "its text is empty"],
    ["2{}", 'its format "2" is unknown here'],
    ['{"a":1}', 'its format "{" is unknown here'],
    ["1", "its text is damaged"],
    ["0", "its text is damaged"],
    ['1{"a":', "its text is damaged"],
    ['1{"$":"Temporal","v":""}', "its text is damaged"],
    ['1{"$":"constructor"}', "its text is damaged"],
    ['1{"$":null}', "its text is damaged"],
    ['1[{"$":"Date"}]', "its text is damaged"],
    ['1{"$":"Date","v":5}', "its text is damaged"],
    ['1{"$":"Map","v":5}', "its text is damaged"],
    ['1{"$":"Map","v":[5]}', "its text is damaged"],
    ['1{"$":"Set","v":{}}', "its text is damaged"],
    ['1{"$":"URL","v":"nowhere"}', "its text is damaged"],
    ['1{"$":"Uint8Array","v":"?"}', "its text is damaged"],
    ['1{"$":"bigint","v":"1.5"}', "its text is damaged"],
    ['1{"$":"bigint"}', "its text is damaged"],
    ['1{"$":"number","v":5}', "its text is damaged"],
    ['1{"$":"Error","v":"no"}', "its text is damaged"],
    ['1{"$":"Error","v":null}', "its text is damaged"],
    ['1{"$":"Error","v":{"name":5,"message":""}}', "its text is damaged"],
    ['1{"$":"Object","v":5}', "its text is damaged"],
  ])("refuses %j", (text, why) => {
    expect(() => decode(text, { what: 'the result of step "charge"' })).toThrow(
      expect.objectContaining({
        code: "undecodable_value",
        message: `the result of step "charge" cannot be read: ${why}`,
        hint: expect.stringMatching(/\.$/),
      }),
    );
  });

  it("keeps what was wrong with a damaged text", () => {
    expect(() => decode('1{"a":')).toThrow(expect.objectContaining({ cause: expect.any(SyntaxError) }));
    expect(() => decode('1{"$":"Temporal"}')).toThrow(
      expect.objectContaining({ cause: expect.objectContaining({ message: 'the tag "Temporal" is unknown' }) }),
    );
  });

  it("reads or refuses any text, but never fails otherwise", () => {
    const tagged = fc.letrec((tie) => ({
      json: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom(null, 5, "x", ""),
        fc.array(tie("json"), { maxLength: 3 }),
        fc.record({
          $: fc.oneof(
            fc.constantFrom("Date", "Map", "Set", "URL", "Error", "Object", "Uint8Array", "bigint", "number"),
            tie("json"),
          ),
          v: tie("json"),
        }),
      ),
    })).json;
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          tagged.map((json) => `1${JSON.stringify(json)}`),
        ),
        (text) => {
          try {
            decode(text);
          } catch (error) {
            expect(error).toMatchObject({ name: "LayoverError", code: "undecodable_value" });
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it("reads a text nested deeper than the stack", () => {
    const levels = 100_000;
    let value = decode(`1${"[".repeat(levels)}{"$":"undefined"}${"]".repeat(levels)}`);
    for (let level = 0; level < levels; level++) value = Array.isArray(value) ? value[0] : "too shallow";
    expect(value).toBeUndefined();
  });
});
