import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createApiKey, openApiKey } from "../../src/http/api-key.ts";
import { Secrets } from "../../src/http/secrets.ts";

const secrets = new Secrets(["q3Jx9ZkP0wVfT7uYb2LmNc8RsAe5GhD1iKo4XyUzW6E="]);
const namespace = "shop";

describe("an API key", () => {
  it("says whose it is and what it may do", () => {
    const key = createApiKey(secrets, { name: "web shop", namespace, scopes: ["start", "read"] });
    expect(key).toMatch(/^lok_[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}$/);
    expect(openApiKey(secrets, key, { namespace })).toEqual({
      keyId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      namespace,
      name: "web shop",
      scopes: ["start", "read"],
      expiresAt: undefined,
    });
  });

  it("counts until it expires", () => {
    const expiresAt = new Date("2026-06-01");
    const key = createApiKey(secrets, { name: "trial", namespace, scopes: ["read"], expiresAt });
    expect(openApiKey(secrets, key, { namespace, nowMs: expiresAt.getTime() - 1 })?.expiresAt).toEqual(expiresAt);
    expect(openApiKey(secrets, key, { namespace, nowMs: expiresAt.getTime() })).toBeUndefined();
  });

  it("does not count in another namespace, with another secret, or as anything else that we signed", () => {
    const key = createApiKey(secrets, { name: "web shop", namespace, scopes: ["start"] });
    expect(openApiKey(secrets, key, { namespace: "foreign" })).toBeUndefined();
    const others = new Secrets(["f0e1d2c3b4a5968778695a4b3c2d1e0ff0e1d2c3b4a5968778695a4b3c2d1e0f"]);
    expect(openApiKey(others, key, { namespace })).toBeUndefined();
    const payload = key.slice(4).split(".")[0] ?? "";
    expect(openApiKey(secrets, `lok_${payload}.${secrets.sign("callback", payload)}`, { namespace })).toBeUndefined();
  });

  it("names its environment, and counts in no other", () => {
    const keyOf = (environment: string | undefined) =>
      createApiKey(secrets, { name: "web shop", namespace, environment, scopes: ["start"] });
    const countsIn = (key: string, environment: string | undefined) =>
      openApiKey(secrets, key, { namespace, environment }) !== undefined;
    const key = keyOf("production");
    expect(openApiKey(secrets, key, { namespace, environment: "production" })?.environment).toBe("production");
    for (const other of ["staging", "default", undefined]) expect(countsIn(key, other)).toBe(false);
    for (const nameless of ["default", undefined]) {
      for (const every of ["production", "default", undefined]) expect(countsIn(keyOf(nameless), every)).toBe(true);
    }
  });

  it("of an earlier release counts in every environment", () => {
    const key =
      "lok_eyJ2IjoxLCJpZCI6IjAxYTIwMmFjLTI2NzUtNzZmNi1hMjk0LTMxNWVmYjBmNGI5YSIsIm5hbWUiOiJ3ZWIgc2hvcCIsIm5zIjoic2hvcCIsInNjb3BlcyI6WyJzdGFydCJdfQ.r_h1mPZ8-dqs7J-uZ9zPcgkaa4IYD56E9WpYpItyN6U";
    for (const environment of ["production", "default"]) {
      expect(openApiKey(secrets, key, { namespace, environment })).toMatchObject({
        name: "web shop",
        scopes: ["start"],
      });
    }
  });

  it("does not count when anything in it was changed", () => {
    const key = createApiKey(secrets, { name: "web shop", namespace, scopes: ["start"] });
    fc.assert(
      fc.property(fc.nat({ max: key.length - 1 }), fc.constantFrom("A", "z", ".", ""), (at, sign) => {
        const changed = key.slice(0, at) + sign + key.slice(at + 1);
        return changed === key || openApiKey(secrets, changed, { namespace }) === undefined;
      }),
    );
  });
});
