import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkName, checkNamespace, checkPath, checkStepName } from "../../src/core/names.ts";

describe("checkName", () => {
  it.each([
    "charge",
    "a",
    "cool off",
    "2. Versand",
    "注文",
    "über/unter#[1]",
    "👩‍👩‍👧 family",
    "x".repeat(200),
    "👍".repeat(200),
  ])("answers %j as it is", (name) => {
    expect(checkName(name, "the name")).toBe(name);
  });

  it.each([
    ["", "the name is empty"],
    ["x".repeat(201), `the name "${"x".repeat(60)}" is longer than 200 characters`],
    ["👍".repeat(201), `the name "${"👍".repeat(30)}" is longer than 200 characters`],
    ["x".repeat(10_000_000), `the name "${"x".repeat(60)}" is longer than 200 characters`],
    ["a\u0000b", 'the name "a\\u0000b" contains a character that cannot be printed'],
    ["a\nb", 'the name "a\\nb" contains a character that cannot be printed'],
    ["a\u007fb", 'the name "a\u007fb" contains a character that cannot be printed'],
    ["a\u2028b", 'the name "a\u2028b" contains a character that cannot be printed'],
    ["a\u2029b", 'the name "a\u2029b" contains a character that cannot be printed'],
    ["a\ud800b", 'the name "a\\ud800b" contains a character that cannot be printed'],
    [" ", 'the name " " begins or ends with a space'],
    [" a", 'the name " a" begins or ends with a space'],
    ["a\u00a0", 'the name "a\u00a0" begins or ends with a space'],
    [null, "the name is not a text: null"],
    [undefined, "the name is not a text: undefined"],
    [5, "the name is not a text: number"],
  ])("refuses %j", (name, message) => {
    expect(() => checkName(name, "the name")).toThrow(expect.objectContaining({ code: "invalid_name", message }));
  });

  it("says whose name it is, the limit and what is allowed", () => {
    expect(() => checkName("", "the tag")).toThrow(
      expect.objectContaining({
        hint: "Use 1 to 200 printable characters, without spaces around them.",
        details: { field: "the tag", limit: 200 },
      }),
    );
  });

  it("lets nothing through that Postgres or a page could not show", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (name) => {
        try {
          checkName(name, "the name");
        } catch {
          return;
        }
        expect(name).toMatch(/^[^\p{Cc}\p{Zl}\p{Zp}\p{Cs}]{1,200}$/u);
        expect(name.trim()).toBe(name);
      }),
    );
  });
});

describe("checkStepName", () => {
  it("answers a name that cannot be mistaken for a path", () => {
    expect(checkStepName("charge the card (1.5 €)")).toBe("charge the card (1.5 €)");
  });

  it.each(["/", "[", "]", "#"])("refuses %j, which builds paths", (sign) => {
    expect(() => checkStepName(`a${sign}b`)).toThrow(
      `the step's name "a${sign}b" contains "${sign}", which builds the paths of steps`,
    );
  });

  it("refuses what no name may be, and says whose name it is", () => {
    expect(() => checkStepName("")).toThrow("the step's name is empty");
    expect(() => checkStepName("", "the scope's name")).toThrow("the scope's name is empty");
  });
});

describe("checkPath", () => {
  it.each(["a", "a".repeat(2_000), "€".repeat(666), "ship[3]/send"])("answers a path of up to 2,000 bytes", (path) => {
    expect(checkPath(path)).toBe(path);
  });

  it.each([
    ["a".repeat(2_001), 2_001],
    ["€".repeat(667), 2_001],
  ])("refuses a longer one, and says how long it is", (path, size) => {
    expect(() => checkPath(path)).toThrow(
      expect.objectContaining({
        code: "invalid_name",
        message: `the path of step "${path.slice(0, 60)}"… is ${size} bytes long, more than 2000`,
        hint: "Use shorter names for the step and for the scopes and maps around it.",
        details: { field: "the step's path", limit: 2_000, size },
      }),
    );
  });
});

describe("checkNamespace", () => {
  it.each(["default", "A", "0", "app-1_eu.west", "n".repeat(63)])("answers %j", (namespace) => {
    expect(checkNamespace(namespace)).toBe(namespace);
  });

  it.each(["n".repeat(64), "a b", "ä", "-a", ".a", "a/b", "a\u200db"])(
    "refuses %j, which the names of schedules could not hold",
    (namespace) => {
      expect(() => checkNamespace(namespace)).toThrow(
        expect.objectContaining({
          code: "invalid_name",
          message: `the namespace ${JSON.stringify(namespace)} is not a plain identifier`,
          hint: 'Use 1 to 63 letters, digits, "-", "_" and ".", beginning with a letter or digit.',
          details: { field: "the namespace", name: namespace },
        }),
      );
    },
  );

  it("refuses what no name may be", () => {
    expect(() => checkNamespace(undefined)).toThrow("the namespace is not a text: undefined");
    expect(() => checkNamespace("a\n")).toThrow("cannot be printed");
  });
});
