/** Verifiers of senders' requests: what the senders have published passes, and nothing else does. */
import { createHmac } from "node:crypto";
import {
  githubSignature,
  handshake,
  hmac,
  none,
  slackSignature,
  standardWebhooks,
  stripeSignature,
  type Verifier,
} from "layover/webhooks";
import { describe, expect, test } from "vitest";

interface Env {
  readonly secrets: readonly (string | undefined)[];
}
const secretOf = ({ secrets }: Env) => secrets;

interface Vector {
  readonly verifier: Verifier<unknown, Env>;
  readonly secret: string;
  readonly otherSecret: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The sender's time, where it is signed. */
  readonly seconds?: number;
  /** The header with the signature. */
  readonly signature: string;
  readonly event: unknown;
  readonly delivery: string | undefined;
  readonly isIdSigned: boolean;
}

const slackBody =
  "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
const stripeBody = '{"id":"evt_1","type":"charge.refunded","data":{"object":{"id":"ch_1"}}}';

/** GitHub's, Slack's and Standard Webhooks' are those of their documents. Stripe publishes its scheme, and no vector. */
const vectors: Readonly<Record<string, Vector>> = {
  Stripe: {
    verifier: stripeSignature(secretOf),
    secret: "whsec_test_secret",
    otherSecret: "whsec_other",
    seconds: 1_492_774_577,
    headers: {
      "stripe-signature": `t=1492774577,v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39,v1=${createHmac(
        "sha256",
        "whsec_test_secret",
      )
        .update(`1492774577.${stripeBody}`)
        .digest("hex")}`,
    },
    body: stripeBody,
    signature: "stripe-signature",
    event: JSON.parse(stripeBody),
    delivery: "evt_1",
    isIdSigned: true,
  },
  "Standard Webhooks": {
    verifier: standardWebhooks(secretOf),
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    otherSecret: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
    seconds: 1_614_265_330,
    headers: {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    },
    body: '{"test": 2432232314}',
    signature: "webhook-signature",
    event: { test: 2_432_232_314 },
    delivery: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    isIdSigned: true,
  },
  Slack: {
    verifier: slackSignature(secretOf),
    secret: "8f742231b10e8888abcd99yyyzzz85a5",
    otherSecret: "8f742231b10e8888abcd99yyyzzz85a6",
    seconds: 1_531_420_618,
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "x-slack-request-timestamp": "1531420618",
      "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    },
    body: slackBody,
    signature: "x-slack-signature",
    event: expect.objectContaining({ command: "/webhook-collect", user_name: "roadrunner" }),
    delivery: undefined,
    isIdSigned: true,
  },
  hmac: {
    verifier: hmac({ header: "x-shop-hmac", secret: secretOf, encoding: "base64", delivery: "x-shop-delivery" }),
    secret: "shop",
    otherSecret: "pohs",
    headers: {
      "x-shop-hmac": createHmac("sha256", "shop").update('{"id":1}').digest("base64"),
      "x-shop-delivery": "d1",
    },
    body: '{"id":1}',
    signature: "x-shop-hmac",
    event: { id: 1 },
    delivery: "d1",
    isIdSigned: false,
  },
  GitHub: {
    verifier: githubSignature(secretOf),
    secret: "It's a Secret to Everybody",
    otherSecret: "It's no Secret",
    headers: {
      "content-type": "application/json",
      "x-github-event": "ping",
      "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
      "x-github-hook-id": "292430182",
      "x-hub-signature-256": `sha256=${createHmac("sha256", "It's a Secret to Everybody").update('{"zen":1}').digest("hex")}`,
    },
    body: '{"zen":1}',
    signature: "x-hub-signature-256",
    event: { name: "ping", action: undefined, payload: { zen: 1 } },
    delivery: "292430182:72d3162e-cc78-11e3-81ab-4c9367dc0958",
    isIdSigned: false,
  },
};
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
