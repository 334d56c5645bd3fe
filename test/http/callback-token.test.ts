import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallbackRef } from "../../src/core/contract/callback.ts";
import { callbackOpener, callbackSealer } from "../../src/http/callback-token.ts";
import { Secrets } from "../../src/http/secrets.ts";

const secret = "q3Jx9ZkP0wVfT7uYb2LmNc8RsAe5GhD1iKo4XyUzW6E=";
const secrets = new Secrets([secret]);
const seal = callbackSealer({ secrets, namespace: "shop", publicUrl: "https://example.com/layover/" });
const open = callbackOpener({ secrets, namespace: "shop" });

const ref: CallbackRef = {
  runId: "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
  epoch: 0,
  path: "ship[3]/approval",
  occurrence: 1,
  workflow: "order",
  version: 2,
  name: "approval",
};

describe("a callback's token", () => {
  it("opens to what was sealed, whatever it is", () => {
    const refs = fc.record({
      runId: fc.uuid(),
      epoch: fc.nat(),
      path: fc.string({ unit: "grapheme", maxLength: 500 }),
      occurrence: fc.nat({ max: 2 ** 31 - 1 }),
      workflow: fc.string({ unit: "grapheme", maxLength: 200 }),
      version: fc.nat({ max: 2 ** 31 - 1 }),
      name: fc.string({ unit: "grapheme", maxLength: 200 }),
    });
    fc.assert(
      fc.property(refs, (each) => {
        expect(open(seal(each).token)).toEqual(each);
      }),
    );
  });

  it("carries what the page says, and opens as it was sealed before there was that", () => {
    const asking = { ...ref, title: "Refund Ada?", text: "She has paid twice.\n🎉" };
    expect(open(seal(asking).token)).toEqual(asking);
    expect(open(seal({ ...ref, text: "Twice." }).token)).toEqual({ ...ref, text: "Twice." });
    const [packed = ""] = seal(ref).token.split(".");
    expect(Buffer.from(packed, "base64url")[0]).toBe(1);
    expect(seal({ ...ref, title: "t".repeat(200), text: "t".repeat(1_000) }).url.length).toBeLessThan(2_000);
  });

  it("names its environment, and opens in no other", () => {
    const sealIn = (environment: string | undefined) =>
      callbackSealer({ secrets, namespace: "shop", environment, publicUrl: "https://example.com" });
    const openIn = (environment: string | undefined) => callbackOpener({ secrets, namespace: "shop", environment });
    for (const each of [ref, { ...ref, title: "Refund Ada?" }]) {
      const { token } = sealIn("production")(each);
      expect(openIn("production")(token)).toEqual(each);
      for (const other of ["staging", "default", undefined]) expect(openIn(other)(token)).toBeUndefined();
      for (const nameless of ["default", undefined]) {
        const { token: anywhere } = sealIn(nameless)(each);
        for (const every of ["production", "default", undefined]) expect(openIn(every)(anywhere)).toEqual(each);
      }
    }
  });

  it("says on which day it ends, at the end of that day", () => {
    const noon = Date.UTC(2027, 4, 1, 12);
    expect(open(seal({ ...ref, endsAt: noon }).token)?.endsAt).toBe(Date.UTC(2027, 4, 2));
    expect(open(seal({ ...ref, title: "Refund Ada?", endsAt: noon }).token)?.endsAt).toBe(Date.UTC(2027, 4, 2));
    expect(seal({ ...ref, endsAt: noon })).toEqual(seal({ ...ref, endsAt: noon + 1 }));
  });

  it("of an earlier release opens everywhere and for ever", () => {
    const plain =
      "AQGQobLD1H5fipsMHS4_SlsAAQIFb3JkZXIIYXBwcm92YWwQc2hpcFszXS9hcHByb3ZhbA.ZIUj7TltE9pJFytSffstkG3nPnpYeqiXvtJTLl-xjtA";
    const asking =
      "AgGQobLD1H5fipsMHS4_SlsAAQIFb3JkZXIIYXBwcm92YWwQc2hpcFszXS9hcHByb3ZhbAtSZWZ1bmQgQWRhPxNTaGUgaGFzIHBhaWQgdHdpY2Uu.Go2uRTCGQRWlUU9ARJq7po-rzdGtYy1gg14UpF2j_R4";
    for (const environment of ["production", undefined]) {
      const opened = callbackOpener({ secrets, namespace: "shop", environment });
      expect(opened(plain)).toEqual(ref);
      expect(opened(asking)).toEqual({ ...ref, title: "Refund Ada?", text: "She has paid twice." });
    }
  });

  it("is read by an earlier release, to which what is new in it is behind the end", () => {
    const partsOf = (token: string) => Buffer.from(token.split(".")[0] ?? "", "base64url");
    const before = partsOf(
      "AQGQobLD1H5fipsMHS4_SlsAAQIFb3JkZXIIYXBwcm92YWwQc2hpcFszXS9hcHByb3ZhbA.ZIUj7TltE9pJFytSffstkG3nPnpYeqiXvtJTLl-xjtA",
    );
    const now = partsOf(seal({ ...ref, endsAt: Date.UTC(2027, 4, 1) }).token);
    expect(now.subarray(0, before.length)).toEqual(before);
  });

  it("is always the same for the same wait, and another for every other", () => {
    expect(seal(ref)).toEqual(seal({ ...ref }));
    const others = [
      { ...ref, epoch: 1 },
      { ...ref, occurrence: 2 },
      { ...ref, path: "ship[4]/approval" },
    ];
    expect(new Set([ref, ...others].map((each) => seal(each).token)).size).toBe(4);
  });

  it("stands in a URL as it is, below 2,000 characters", () => {
    const { token, url } = seal(ref);
    expect(url).toBe(`https://example.com/layover/callbacks/${token}`);
    expect(token).toMatch(/^[A-Za-z0-9._-]+$/);
    expect(token.length).toBeLessThan(160);
    const long = { ...ref, path: "p".repeat(200), name: "n".repeat(200), workflow: "w".repeat(200) };
    expect(seal(long).url.length).toBeLessThan(1_000);
    expect(seal({ ...ref, path: "🎉".repeat(200) }).url.length).toBeLessThan(2_000);
  });

  it("does not open in another namespace, nor with another secret", () => {
    const { token } = seal(ref);
    expect(callbackOpener({ secrets, namespace: "foreign" })(token)).toBeUndefined();
    const others = new Secrets(["f0e1d2c3b4a5968778695a4b3c2d1e0ff0e1d2c3b4a5968778695a4b3c2d1e0f"]);
    expect(callbackOpener({ secrets: others, namespace: "shop" })(token)).toBeUndefined();
  });

  it("does not open when anything in it was changed", () => {
    const { token } = seal(ref);
    fc.assert(
      fc.property(fc.nat({ max: token.length - 1 }), fc.constantFrom("A", "z", "_", ".", "=", "é", ""), (at, sign) => {
        const changed = token.slice(0, at) + sign + token.slice(at + 1);
        return changed === token || open(changed) === undefined;
      }),
    );
    fc.assert(fc.property(fc.string(), (text) => open(text) === undefined));
    for (const text of ["", ".", "..", `${token}.`, `${token}.x`, `.${token}`, token.slice(0, -1), `${token}=`]) {
      expect(open(text)).toBeUndefined();
    }
  });

  it("does not open where a later version sealed it", () => {
    const packed = Buffer.from([3, ...Array(40).fill(0)]).toString("base64url");
    expect(open(`${packed}.${secrets.sign("callback", `shop\n${packed}`)}`)).toBeUndefined();
  });
});
