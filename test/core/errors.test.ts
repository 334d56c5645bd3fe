import { describe, expect, it } from "vitest";
import { errorCodes, LayoverError } from "../../src/core/errors.ts";

describe("LayoverError", () => {
  it("carries a code for programs, and what happened and what to do for people", () => {
    const error = new LayoverError("value_too_large", "the input is too large", {
      hint: "Store less.",
      details: { limit: 10, size: 11 },
    });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: "LayoverError",
      code: "value_too_large",
      message: "the input is too large",
      hint: "Store less.",
      details: { limit: 10, size: 11 },
    });
    expect("cause" in error).toBe(false);
  });

  it("keeps its cause, even where that is undefined", () => {
    const error = new LayoverError("internal", "it broke", { hint: "Report it.", cause: undefined });
    expect(Object.hasOwn(error, "cause")).toBe(true);
    expect(error.details).toEqual({});
  });
});

describe("errorCodes", () => {
  it("gives each snake_case code a status that says who can do something about it", () => {
    for (const [code, status] of Object.entries(errorCodes)) {
      expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
      expect([400, 401, 403, 404, 405, 408, 409, 410, 413, 415, 421, 422, 429, 500, 502, 503]).toContain(status);
    }
  });
});
