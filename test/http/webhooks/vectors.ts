/** A request of each sender, as the sender has published it where it has. */
import { createHmac } from "node:crypto";
import {
  githubSignature,
  hmac,
  slackSignature,
  standardWebhooks,
  stripeSignature,
  type Verifier,
} from "layover/webhooks";
import { expect } from "vitest";

export interface Env {
  readonly secrets: readonly (string | undefined)[];
}
export const secretOf = ({ secrets }: Env) => secrets;

export interface Vector {
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
export const vectors: Readonly<Record<string, Vector>> = {
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
