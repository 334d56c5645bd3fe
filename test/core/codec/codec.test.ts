/** What is encoded and decoded again comes back as it was, whatever can be stored. */
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decode, encode } from "../../../src/core/codec/codec.ts";
import { richValue, roundTrip, shapeOf } from "./rich-values.ts";

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
