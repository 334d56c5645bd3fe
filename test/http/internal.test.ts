import { describe, expect, test } from "vitest";
import type { TurnRef } from "../../src/core/ports.ts";
import { readTurns, turnsRequest } from "../../src/http/internal.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { signatureHeader } from "../../src/http/signature.ts";

const first = "bm90IHJhbmRvbSwgYnV0IGZvciB0aGlzIHRlc3QgaXQgaXMgZ29vZCBlbm91Z2g";
const second = "YW5vdGhlciBvbmUsIG5vdCByYW5kb20gZWl0aGVyLCBhbmQgZ29vZCBlbm91Z2g";
const secrets = new Secrets([first]);
const namespace = "shop";
const nowMs = Date.UTC(2026, 0, 1, 12);
const message = {
  turns: [{ runId: "r", turn: 2, branch: { path: "ship[3]/send é", occurrence: 0 } }],
  hops: 3,
  until: nowMs + 20_000,
};

function request(init: RequestInit): Request {
  return new Request("https://example.com/layover/internal/turns", init);
}

describe("a signed request to carry out turns", () => {
  test("tells what was signed", async () => {
    const sent = turnsRequest(message, { secrets, namespace, nowMs });
    expect(await readTurns(request(sent), { secrets, namespace, nowMs })).toEqual(message);
  });

  test.each([-299_000, 299_000])("counts by a clock that is %i ms apart", async (apart) => {
    const sent = turnsRequest(message, { secrets, namespace, nowMs: nowMs + apart });
    expect(await readTurns(request(sent), { secrets, namespace, nowMs })).toEqual(message);
  });

  test.each([-301_000, 301_000])(
    "does not count by a clock that is %i ms apart, nor is its body read",
    async (apart) => {
      const sent = request(turnsRequest(message, { secrets, namespace, nowMs: nowMs + apart }));
      await expect(readTurns(sent, { secrets, namespace, nowMs })).rejects.toMatchObject({ code: "unauthorized" });
      expect(sent.bodyUsed).toBe(false);
    },
  );

  test("counts while its secret is being replaced, and not afterwards", async () => {
    const sent = () => request(turnsRequest(message, { secrets, namespace, nowMs }));
    const both = new Secrets([second, first]);
    expect(await readTurns(sent(), { secrets: both, namespace, nowMs })).toEqual(message);
    const replaced = readTurns(sent(), { secrets: new Secrets([second]), namespace, nowMs });
    await expect(replaced).rejects.toMatchObject({ code: "unauthorized" });
  });

  test.each<[string, (sent: { headers: Headers; body: string }) => RequestInit]>([
    ["no signature", ({ body }) => ({ body })],
    ["another time", ({ headers, body }) => ({ body, headers: changed(headers, /t=(\d+)/, `t=${nowMs / 1_000 - 1}`) })],
    ["another signature", ({ headers, body }) => ({ body, headers: changed(headers, /v1=./, "v1=_") })],
    ["a signature cut short", ({ headers, body }) => ({ body, headers: changed(headers, /.$/, "") })],
    ["another body", ({ headers, body }) => ({ headers, body: body.replace('"hops":3', '"hops":0') })],
  ])("does not count with %s", async (_, change) => {
    const sent = turnsRequest(message, { secrets, namespace, nowMs });
    const init = change({ headers: new Headers(sent.headers), body: String(sent.body) });
    const reading = readTurns(request({ method: "POST", ...init }), { secrets, namespace, nowMs });
    await expect(reading).rejects.toMatchObject({ code: "unauthorized" });
  });

  test("does not count in another namespace", async () => {
    const sent = turnsRequest(message, { secrets, namespace, nowMs });
    const reading = readTurns(request(sent), { secrets, namespace: "other", nowMs });
    await expect(reading).rejects.toMatchObject({ code: "unauthorized" });
  });

  test.each([
    [10, 6_000],
    [200, 220],
  ])("has room for %i branches whose paths have %i bytes", async (count, bytes) => {
    const turns = burst(count, bytes);
    const sent = turnsRequest({ ...message, turns }, { secrets, namespace, nowMs });
    expect((await readTurns(request(sent), { secrets, namespace, nowMs })).turns).toEqual(turns);
  });

  test.each([
    ["one that is longer than ours", `t=${nowMs / 1_000},v1=${"x".repeat(44)}`],
    ["one that is shorter", `t=${nowMs / 1_000},v1=${"x".repeat(42)}`],
  ])("is refused with a signature that cannot be, %s, before its body is read", async (_, signature) => {
    const { body } = turnsRequest(message, { secrets, namespace, nowMs });
    const sent = request({ method: "POST", body: String(body), headers: { [signatureHeader]: signature } });
    await expect(readTurns(sent, { secrets, namespace, nowMs })).rejects.toMatchObject({ code: "unauthorized" });
    expect(sent.bodyUsed).toBe(false);
  });

  test("is read up to a bound, whoever signed it", async () => {
    const sent = turnsRequest({ ...message, turns: burst(201, 400) }, { secrets, namespace, nowMs });
    const reading = readTurns(request(sent), { secrets, namespace, nowMs });
    await expect(reading).rejects.toMatchObject({ code: "body_too_large" });
  });
});

function burst(count: number, bytes: number): TurnRef[] {
  const branch = { path: "x".repeat(bytes), occurrence: 0 };
  return Array.from({ length: count }, () => ({ runId: crypto.randomUUID(), turn: 1, branch }));
}

function changed(headers: Headers, what: RegExp, into: string): Headers {
  headers.set(signatureHeader, (headers.get(signatureHeader) ?? "").replace(what, into));
  return headers;
}
