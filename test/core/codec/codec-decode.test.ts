/** Texts that are decoded, as they stand in the database: plain JSON, damaged ones, and any others. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decode } from "../../../src/core/codec/codec.ts";

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
