/** What cannot be stored is refused when it is encoded, and the error says what it is, where it is and what to do. */
import { describe, expect, it } from "vitest";
import { encode } from "../../../src/core/codec/codec.ts";

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
});
