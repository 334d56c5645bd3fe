import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatPath } from "../../src/core/value-path.ts";

describe("formatPath", () => {
  it.each([
    [[], "$"],
    [["items", 3, "callback"], "$.items[3].callback"],
    [["two words", "größe", "1st", ""], '$["two words"].größe["1st"][""]'],
    [['"]'], '$["\\"]"]'],
    [[Symbol("tag")], "$[Symbol(tag)]"],
  ])("writes %j as %j", (keys, path) => {
    expect(formatPath(keys)).toBe(path);
  });

  it("begins with whatever stands for the value", () => {
    expect(formatPath(["a"], "input")).toBe("input.a");
  });

  it("drops the middle of a long path", () => {
    const path = formatPath(Array.from({ length: 1_000 }, (_, index) => index));
    expect(path).toHaveLength(201);
    expect(path).toMatch(/^\$\[0]\[1].*….*\[999]$/);
  });

  it("is JavaScript that reaches the place", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string({ maxLength: 10 }), fc.nat(9)), { maxLength: 5 }), (keys) => {
        const value = keys.reduceRight<unknown>((inner, key) => Object.fromEntries([[key, inner]]), "here");
        expect(new Function("$", `return ${formatPath(keys)}`)(value)).toBe("here");
      }),
    );
  });
});
