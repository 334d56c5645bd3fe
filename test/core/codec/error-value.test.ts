import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decode, encode } from "../../../src/core/codec/codec.ts";
import { toErrorValue } from "../../../src/core/codec/error-value.ts";
import { NonRetryableError, StepError } from "../../../src/core/contract/user-errors.ts";
import { LayoverError } from "../../../src/core/errors.ts";
import { nested, richValue } from "./rich-values.ts";

function fail(): never {
  throw new Error("do not touch");
}

/** Converts what was thrown, and leaves out the stack, which is long. */
function told(thrown: unknown): unknown {
  const { stack: _, ...others } = toErrorValue(thrown);
  return others;
}

describe("toErrorValue", () => {
  it("keeps an error's name, message and stack", () => {
    const error = new TypeError("no such card");
    expect(toErrorValue(error)).toEqual({ name: "TypeError", message: "no such card", stack: error.stack });
  });

  it("keeps the code, the data and the cause", () => {
    const cause = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    expect(told(new NonRetryableError("rejected", { cause, data: { by: "Ada" } }))).toEqual({
      name: "NonRetryableError",
      message: "rejected",
      data: { by: "Ada" },
      cause: { name: "Error", message: "refused", code: "ECONNREFUSED", stack: cause.stack },
    });
  });

  it("keeps whatever else the error carries as its data", () => {
    const error = Object.assign(new Error("bad gateway"), { status: 502, at: new Date(0), code: 7, none: undefined });
    expect(told(error)).toEqual({
      name: "Error",
      message: "bad gateway",
      data: { status: 502, at: new Date(0), code: 7, none: undefined },
    });
  });

  it("takes the error's own data alone where it has some", () => {
    expect(told(Object.assign(new Error("a"), { status: 502, data: null }))).toEqual({
      name: "Error",
      message: "a",
      data: null,
    });
    expect(told(Object.assign(new Error("a"), { status: 502, data: undefined }))).toMatchObject({
      data: { status: 502 },
    });
  });

  it("tells what it could not keep, and keeps the rest", () => {
    const socket = { connect: fail };
    expect(told(Object.assign(new Error("a"), { status: 502, socket }))).toMatchObject({
      data: { status: 502, socket: "(not kept: it cannot be stored: $.connect is a function)" },
    });
    expect(told(new NonRetryableError("a", { data: Symbol("b") }))).toMatchObject({
      data: "(not kept: it cannot be stored: $ is a symbol)",
    });
  });

  it("keeps the first that Promise.any failed with", async () => {
    const failures = Array.from({ length: 12 }, (_, index) => Promise.reject(new RangeError(`${index}`.repeat(500))));
    const error: unknown = await Promise.any(failures).catch((thrown: unknown) => thrown);
    const errors = Array.from({ length: 10 }, (_, index) => ({
      name: "RangeError",
      message: `${`${index}`.repeat(200)}…`,
    }));
    expect(told(error)).toEqual({ name: "AggregateError", message: "All promises were rejected", data: { errors } });
  });

  it("keeps an error's own list of errors, whatever is in it", () => {
    const error = Object.assign(new Error("invalid"), { errors: ["a", new TypeError("b")] });
    expect(told(error)).toMatchObject({
      data: {
        errors: [
          { name: "Error", message: "a" },
          { name: "TypeError", message: "b" },
        ],
      },
    });
    expect(told(Object.assign(new Error("invalid"), { errors: 5 }))).toMatchObject({ data: { errors: 5 } });
  });

  it("keeps three causes and ends there, so that an error may be its own cause", () => {
    const error = new Error("a");
    error.cause = error;
    expect(told(error)).toMatchObject({ cause: { cause: { cause: { message: "a" } } } });
    expect(JSON.stringify(toErrorValue(error)).match(/"message"/g)).toHaveLength(4);
  });

  it("takes no cause for no cause", () => {
    expect("cause" in toErrorValue(new Error("a", { cause: undefined }))).toBe(false);
    expect("cause" in toErrorValue(new Error("a", { cause: null }))).toBe(false);
    expect(told(new Error("a", { cause: "" }))).toMatchObject({ cause: { name: "Error", message: "" } });
  });

  it("cuts what is long", () => {
    const long = "x".repeat(100_000);
    const error = Object.assign(new Error(long), { name: long, stack: long, code: long, data: long });
    const value = toErrorValue(error);
    expect(value).toEqual({
      name: `${"x".repeat(200)}…`,
      message: `${"x".repeat(8_192)}…`,
      stack: `${"x".repeat(8_192)}…`,
      code: `${"x".repeat(200)}…`,
      data: "(not kept: it is too large: more than 100000 bytes, where 8192 are allowed)",
    });
  });

  it("keeps 8 KiB of an error's properties", () => {
    const properties = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, index) => [`property ${index}`, "x".repeat(20)]),
    );
    const value = toErrorValue(Object.assign(new Error("a"), properties));
    expect(encode(value.data).length).toBeGreaterThan(6 * 1024);
    expect(encode(value.data).length).toBeLessThan(12 * 1024);
    expect(value.data).toMatchObject({ "property 0": "x".repeat(20) });
  });

  it.each<[unknown, unknown]>([
    ["out of stock", { name: "Error", message: "out of stock" }],
    ["", { name: "Error", message: "" }],
    [null, { name: "Error", message: "null was thrown" }],
    [undefined, { name: "Error", message: "undefined was thrown" }],
    [404, { name: "Error", message: "404 was thrown" }],
    [Symbol("a"), { name: "Error", message: "Symbol(a) was thrown" }],
    [fail, { name: "Error", message: "a function was thrown" }],
    [{ status: 502 }, { name: "Error", message: "an object that is no Error was thrown", data: { status: 502 } }],
    [
      { message: "odd", name: 5 },
      { name: "Error", message: "odd" },
    ],
    [Object.assign(Object.create(null), { name: "", message: "odd" }), { name: "Error", message: "odd" }],
    [new DOMException("too slow", "TimeoutError"), { name: "TimeoutError", message: "too slow" }],
    [runInNewContext("new RangeError('far')"), { name: "RangeError", message: "far" }],
  ])("makes an error of %o", (thrown, value) => {
    expect(told(thrown)).toEqual(value);
  });

  it("survives getters and proxies that throw", () => {
    const getters = Object.defineProperties(new Error("a"), {
      message: { get: fail },
      stack: { get: fail },
      data: { get: fail },
      cause: { get: fail },
      status: { get: fail, enumerable: true },
    });
    expect(toErrorValue(getters)).toEqual({
      name: "Error",
      message: "an object that is no Error was thrown",
      data: { status: undefined },
    });
    const proxy = new Proxy(
      {},
      { get: fail, has: fail, ownKeys: fail, getPrototypeOf: fail, getOwnPropertyDescriptor: fail },
    );
    expect(toErrorValue(proxy)).toEqual({ name: "Error", message: "an object that is no Error was thrown" });
    expect(toErrorValue(new Error("a", { cause: proxy }))).toMatchObject({ cause: { name: "Error" } });
  });

  it("keeps none of what is far too large", () => {
    const longest = new Array(2 ** 32 - 1);
    expect(told(Object.assign(new Error("a"), { longest }))).toMatchObject({
      message: "a",
      data: { longest: expect.stringMatching(/^\(not kept: it is too large/) },
    });
    const nameless = { name: "Error", message: "an object that is no Error was thrown" };
    expect(told(longest)).toEqual(nameless);
    expect(toErrorValue(new Uint8Array(2 ** 27))).toEqual(nameless);
    expect(toErrorValue(Object("a".repeat(2 ** 27)))).toEqual(nameless);
  });

  it("survives lists of errors that cannot be read", () => {
    const { proxy, revoke } = Proxy.revocable([], {});
    revoke();
    const lists = [proxy, new Proxy([], { get: fail }), [new Proxy({}, { get: fail })]];
    const values = lists.map((errors) => told(Object.assign(new Error("a"), { status: 502, errors })));
    const nothing = { name: "Error", message: "a", data: { status: 502, errors: undefined } };
    const unknown = { name: "Error", message: "an object that is no Error was thrown" };
    expect(values).toEqual([nothing, nothing, { ...nothing, data: { status: 502, errors: [unknown] } }]);
  });

  it("leaves out a property whose very name is too long", () => {
    expect(told(Object.assign(new Error("a"), { status: 502, ["x".repeat(100_000)]: 1 }))).toMatchObject({
      data: { status: 502 },
    });
  });

  it("keeps data of 100 levels, so that the whole is storable", () => {
    const data = { levels: nested("object", 101) };
    expect(told(Object.assign(new Error("a"), { levels: nested("object", 100) }))).toEqual({
      name: "Error",
      message: "a",
      data: { levels: nested("object", 100) },
    });
    expect(told(Object.assign(new Error("a"), data))).toMatchObject({
      data: { levels: expect.stringMatching(/^\(not kept: it is nested more than 100 levels deep, at/) },
    });
  });

  it("keeps the facts of layover's own errors", () => {
    const error = new LayoverError("value_too_large", "too large", { hint: "Store less.", details: { limit: 5 } });
    expect(told(error)).toEqual({
      name: "LayoverError",
      code: "value_too_large",
      message: "too large",
      data: { hint: "Store less.", details: { limit: 5 } },
    });
    const cause = { name: "CardDeclined", message: "no funds" };
    expect(told(new StepError({ step: "charge", attempts: 2, cause }))).toEqual({
      name: "StepError",
      message: 'step "charge" failed after 2 attempts: CardDeclined: no funds',
      data: { step: "charge", attempts: 2 },
      cause,
    });
  });

  it("makes of anything a value that can be stored, is small, and stays as it is", () => {
    fc.assert(
      fc.property(fc.oneof(richValue, fc.anything({ withNullPrototype: true, withSparseArray: true })), (thrown) => {
        const value = toErrorValue(thrown);
        const text = encode(value);
        expect(text.length).toBeLessThan(256 * 1024);
        expect(toErrorValue(value)).toEqual(value);
        expect(toErrorValue(decode(text))).toEqual(value);
      }),
      { numRuns: 500 },
    );
  });

  it("can be stored even where every character takes six bytes and every cause is as large", () => {
    const zeros = "\u0000".repeat(100_000);
    const worst = Array.from({ length: 9 }).reduce<unknown>(
      (cause) =>
        Object.assign(new Error(zeros, { cause }), {
          stack: zeros,
          name: zeros,
          code: zeros,
          detail: zeros.slice(0, 1_300),
        }),
      undefined,
    );
    expect(encode(toErrorValue(worst)).length).toBeLessThan(1024 * 1024);
  });
});
