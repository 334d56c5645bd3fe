import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Secrets } from "../../src/http/secrets.ts";

const one = "q3Jx9ZkP0wVfT7uYb2LmNc8RsAe5GhD1iKo4XyUzW6E=";
const other = "f0e1d2c3b4a5968778695a4b3c2d1e0ff0e1d2c3b4a5968778695a4b3c2d1e0f";

describe("Secrets", () => {
  it("verifies what it signed, for that purpose and text alone", () => {
    const secrets = new Secrets([one]);
    const mac = secrets.sign("callback", "text");
    expect(mac).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(secrets.verify("callback", "text", mac)).toBe(true);
    expect(secrets.verify("api key", "text", mac)).toBe(false);
    expect(secrets.verify("callback", "texts", mac)).toBe(false);
    expect(secrets.verify("callback", "text", mac.slice(1))).toBe(false);
    expect(secrets.verify("callback", "text", "")).toBe(false);
  });

  it("derives its keys by HKDF-SHA256, as any other program can", async () => {
    const root = await crypto.subtle.importKey("raw", new TextEncoder().encode(one), "HKDF", false, ["deriveBits"]);
    const [salt, info] = ["layover", "callback"].map((text) => new TextEncoder().encode(text));
    if (!salt || !info) throw new Error("two texts");
    const bits = await crypto.subtle.deriveBits({ name: "HKDF", hash: "SHA-256", salt, info }, root, 256);
    const key = await crypto.subtle.importKey("raw", bits, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    const mac = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode("text"));
    expect(new Secrets([one]).sign("callback", "text")).toBe(Buffer.from(mac).toString("base64url"));
  });

  it("signs with the first secret and verifies with all, so that they can be rotated", () => {
    const old = new Secrets([one]);
    const rotating = new Secrets([other, one]);
    const rotated = new Secrets([other, undefined]);
    const mac = old.sign("callback", "text");
    expect(rotating.verify("callback", "text", mac)).toBe(true);
    expect(rotating.verify("callback", "text", rotating.sign("callback", "text"))).toBe(true);
    expect(rotated.verify("callback", "text", mac)).toBe(false);
    expect(rotated.verify("callback", "text", rotating.sign("callback", "text"))).toBe(true);
  });

  it("takes no text for another's MAC, whatever it is", () => {
    const secrets = new Secrets([one]);
    const mac = secrets.sign("callback", "text");
    fc.assert(fc.property(fc.string(), (guess) => guess === mac || !secrets.verify("callback", "text", guess)));
    fc.assert(
      fc.property(fc.nat({ max: mac.length - 1 }), (at) => {
        const flipped = `${mac.slice(0, at)}${mac[at] === "A" ? "B" : "A"}${mac.slice(at + 1)}`;
        return !secrets.verify("callback", "text", flipped);
      }),
    );
  });

  it.each([
    [[], "there is no root secret"],
    [[undefined, "  "], "there is no root secret"],
    [["short"], "a root secret holds 3 bytes, and 32 are needed"],
    [["0123456789abcdef0123456789abcdef"], "a root secret holds 16 bytes, and 32 are needed"],
    [["a passphrase of few words!"], "a root secret holds 26 bytes, and 32 are needed"],
    [["abc ".repeat(20)], "a root secret repeats a few characters"],
    [["00".repeat(32)], "a root secret repeats a few characters"],
    [[one, "changeme"], "a root secret holds 6 bytes, and 32 are needed"],
  ])("refuses %j", (given, message) => {
    expect(() => new Secrets(given)).toThrow(expect.objectContaining({ code: "invalid_secret", message }));
  });

  it("does not mind the line break that a file ends with", () => {
    expect(new Secrets([`${one}\n`]).sign("callback", "text")).toBe(new Secrets([one]).sign("callback", "text"));
  });
});
