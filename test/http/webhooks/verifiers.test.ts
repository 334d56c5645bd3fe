/** Verifiers of senders' requests: what the senders have published passes, and nothing else does. */
import { createHmac } from "node:crypto";
import { handshake, none, slackSignature, start, webhook } from "layover/webhooks";
import { describe, expect, test, vi } from "vitest";
import { areEqual } from "../../../src/http/equal-texts.ts";
import { testDatabase } from "../../postgres/database.ts";
import { anything } from "../an-app.ts";
import { anAppWith } from "./a-webhook.ts";
import { secretOf, type Vector, vectors } from "./vectors.ts";

const database = testDatabase();

const named = Object.entries(vectors);

interface Changes {
  readonly secrets?: readonly (string | undefined)[];
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string | Uint8Array;
  readonly seconds?: number;
}

function verify(vector: Vector, changes: Changes = {}) {
  const { secrets = [vector.secret], body = vector.body, seconds = vector.seconds ?? 1_700_000_000 } = changes;
  const all: Readonly<Record<string, string | undefined>> = { ...vector.headers, ...changes.headers };
  const headers = new Headers(
    Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
  );
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const request = {
    method: "POST",
    url: "https://example.com/webhooks/it",
    headers,
    body: bytes,
    now: seconds * 1_000,
  };
  return vector.verifier.verify(request, { secrets });
}

describe.each(named)("%s", (_, vector) => {
  test("passes, with its event and its id", () => {
    const { event, delivery, isIdSigned } = vector;
    expect(verify(vector)).toEqual({ outcome: "verified", event, delivery, isIdSigned });
  });

  test("passes by either of two secrets, while one is being changed", () => {
    for (const secrets of [
      [vector.otherSecret, vector.secret],
      [vector.secret, undefined],
    ])
      expect(verify(vector, { secrets }).outcome).toBe("verified");
  });

  test.each<[string, Changes | (() => Changes)]>([
    ["another secret", { secrets: [vector.otherSecret] }],
    ["no secret", { secrets: [undefined, ""] }],
    ["a changed byte of the body", { body: vector.body.replace(/.$/, " ") }],
    ["a byte more", { body: `${vector.body} ` }],
    ["no signature", { headers: { [vector.signature]: undefined } }],
    ["an empty signature", { headers: { [vector.signature]: "" } }],
    ["a signature that is none", { headers: { [vector.signature]: "v1,v1=,=,t=" } }],
    ["a signature that is cut", { headers: { [vector.signature]: vector.headers[vector.signature]?.slice(0, -3) } }],
    [
      "a header without an end",
      { headers: { [vector.signature]: `${vector.headers[vector.signature]}${",x".repeat(4_000)}` } },
    ],
  ])("is refused with %s", (_, changes) => {
    expect(verify(vector, typeof changes === "function" ? changes() : changes)).toMatchObject({ outcome: "refused" });
  });
});

describe.each(named)("%s, at the door,", (_, vector) => {
  const { seconds = 1_700_000_000 } = vector;
  /** The clock of the host is that of the request. */
  const atItsTime = async (act: (app: ReturnType<typeof anAppWith>) => Promise<void>) => {
    const { verifier, secret } = vector;
    const bound = {
      ...verifier,
      verify: (request: Parameters<typeof verifier.verify>[0]) =>
        verifier.verify({ ...request, now: seconds * 1_000 }, { secrets: [secret] }),
    };
    await act(
      anAppWith(database.query, webhook({ name: "it", verify: bound, on: ({ event }) => start(anything, event) })),
    );
  };
  const sent = (changes: { readonly body?: string; readonly headers?: Readonly<Record<string, string>> } = {}) => ({
    method: "POST",
    body: changes.body ?? vector.body,
    headers: { ...vector.headers, ...changes.headers },
  });

  test("is refused without SQL if any bit of its body or any sign of its signature is another", async () => {
    await atItsTime(async (app) => {
      for (let at = 0; at < vector.body.length; at += 1) {
        const body = `${vector.body.slice(0, at)}${String.fromCharCode(vector.body.charCodeAt(at) ^ 1)}${vector.body.slice(at + 1)}`;
        expect((await app.request("/webhooks/it", sent({ body }))).status).toBe(401);
      }
      const value = vector.headers[vector.signature] ?? "";
      for (let at = value.length - 10; at < value.length - 1; at += 1) {
        const changed = `${value.slice(0, at)}${value[at] === "0" ? "1" : "0"}${value.slice(at + 1)}`;
        expect((await app.request("/webhooks/it", sent({ headers: { [vector.signature]: changed } }))).status).toBe(
          401,
        );
      }
      for (const name of Object.keys(vector.headers).filter((each) => /signature|timestamp|hmac|webhook-id/.test(each)))
        expect((await app.request("/webhooks/it", sent({ headers: { [name]: "" } }))).status).toBe(401);
      expect(app.statements).toEqual([]);
    });
  });

  test("is refused without SQL if it is ten megabytes long", async () => {
    await atItsTime(async (app) => {
      expect((await app.request("/webhooks/it", sent({ body: "x".repeat(10_000_000) }))).status).toBe(413);
      expect(app.statements).toEqual([]);
    });
  });

  test("does nothing when somebody sends the very request again", async () => {
    await atItsTime(async (app) => {
      await app.request("/webhooks/it", sent());
      await app.request("/webhooks/it", sent());
      const { rows } = await database.pool.query(
        "select attempts from layover.delivery where webhook = 'it' and event = $1",
        [JSON.stringify(eventOf(vector))],
      );
      expect(rows).toEqual([{ attempts: 1 }]);
    });
  });
});

function eventOf(vector: Vector): unknown {
  const verdict = verify(vector);
  if (verdict.outcome !== "verified") throw new Error(`the request is ${verdict.outcome}`);
  return verdict.event;
}

test("signatures are compared to their ends, wherever they differ first", () => {
  const right = "0123456789abcdef";
  const seen = vi.spyOn(String.prototype, "charCodeAt");
  const looks = ["x123456789abcdef", "0123456789abcdex", right].map((given) => {
    seen.mockClear();
    areEqual(right, given);
    return seen.mock.calls.length;
  });
  seen.mockRestore();
  expect(new Set(looks).size).toBe(1);
  expect(looks[0]).toBeGreaterThanOrEqual(right.length);
});

describe.each(named.filter(([, { seconds }]) => seconds !== undefined))("%s", (_, vector) => {
  const { seconds = 0 } = vector;

  test("is taken for five minutes, and no longer: nobody may keep a request and send it later", () => {
    const outcomes = [-301, -299, 299, 301].map((late) => verify(vector, { seconds: seconds + late }).outcome);
    expect(outcomes).toEqual(["refused", "verified", "verified", "refused"]);
  });
});

test("the document's own example of GitHub is computed as they say", () => {
  const verdict = verify(vectors["GitHub"] as Vector, {
    body: "Hello, World!",
    headers: { "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17" },
  });
  // The signature is right. What it signs is no JSON.
  expect(verdict).toEqual({
    outcome: "refused",
    reason: "its body is not JSON. Choose application/json as the hook's content type",
  });
});

test("a body is read only once its signature is right, and then it must be what it should be", () => {
  const vector = vectors["hmac"] as Vector;
  const signed = (body: Uint8Array) => ({
    body,
    headers: { "x-shop-hmac": createHmac("sha256", "shop").update(body).digest("base64") },
  });
  const bytes = (text: string) => new TextEncoder().encode(text);
  expect(verify(vector, signed(Uint8Array.of(0x22, 0xff, 0x22)))).toMatchObject({
    reason: "its body is not valid UTF-8",
  });
  expect(verify(vector, signed(bytes("{")))).toMatchObject({ reason: "its body is not JSON" });
  expect(verify(vector, signed(bytes("[".repeat(100_000))))).toMatchObject({ reason: "its body is not JSON" });
});

describe("Slack", () => {
  const vector = vectors["Slack"] as Vector;
  const signed = (body: string, type = "application/json") => ({
    body,
    headers: {
      "content-type": type,
      "x-slack-signature": `v0=${createHmac("sha256", vector.secret).update(`v0:1531420618:${body}`).digest("hex")}`,
    },
  });

  test("asks whether the address is right, and is answered, once its signature is", () => {
    const question = JSON.stringify({ type: "url_verification", challenge: "3eZbrw1aB" });
    expect(verify(vector, signed(question))).toEqual({ outcome: "answered", answer: { body: "3eZbrw1aB" } });
    expect(verify(vector, { body: question, headers: { "content-type": "application/json" } })).toMatchObject({
      outcome: "refused",
    });
  });

  test("names its events, and the user may name what it does not", () => {
    expect(verify(vector, signed('{"event_id":"Ev1"}'))).toMatchObject({ delivery: "Ev1", isIdSigned: true });
    const button = `payload=${encodeURIComponent('{"trigger_id":"t1"}')}`;
    const verifier = slackSignature(secretOf, { delivery: (event) => Object(event).trigger_id });
    const form = "application/x-www-form-urlencoded; charset=utf-8";
    expect(verify({ ...vector, verifier }, signed(button, form))).toMatchObject({
      event: { trigger_id: "t1" },
      delivery: "t1",
    });
  });
});

test("a sender that asks first is answered in its way, and everything else is verified", () => {
  const vector = vectors["hmac"] as Vector;
  const verifier = handshake(vector.verifier, ({ headers }) =>
    headers.has("x-hook-secret") ? { status: 204 } : undefined,
  );
  expect(verify({ ...vector, verifier }, { headers: { "x-hook-secret": "s" } })).toEqual({
    outcome: "answered",
    answer: { status: 204 },
  });
  expect(verify({ ...vector, verifier }).outcome).toBe("verified");
  expect(verify({ ...vector, verifier }, { body: "{}" }).outcome).toBe("refused");
});

test("a sender that signs nothing needs a reason", () => {
  const vector = { ...(vectors["hmac"] as Vector), verifier: none({ reason: "only our network reaches it" }) };
  expect(verify(vector)).toEqual({ outcome: "verified", event: { id: 1 }, delivery: undefined, isIdSigned: false });
  expect(() => none({ reason: " " })).toThrow("say in `reason`");
});
