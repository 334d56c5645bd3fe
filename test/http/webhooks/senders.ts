/**
 * Three senders, as their own documents describe them:
 * https://docs.stripe.com/webhooks
 * https://docs.github.com/en/webhooks/using-webhooks/handling-failed-webhook-deliveries
 * https://docs.slack.dev/apis/events-api
 */
import { createHmac } from "node:crypto";
import { githubSignature, slackSignature, stripeSignature, type Verifier } from "layover/webhooks";

const secret = "a secret of a sender's own";
export const env = { SECRET: secret };
type Env = typeof env;
const secretOf = ({ SECRET }: Env) => SECRET;

/** What happened at the sender: of the same kind for all three. */
export interface Happening {
  readonly id: string;
  readonly type: "paid" | "moved" | "noted";
  readonly order: string;
}

export interface Sender {
  readonly verify: Verifier<unknown, Env>;
  /** Reads what happened from an event, as its verifier gives it. */
  readonly read: (event: unknown) => Happening;
  /** How long it waits for an answer. */
  readonly patienceMs: number;
  /** The pauses after tries that failed. When they are used up, it gives up. */
  readonly pausesMs: readonly number[];
  /** Whether a person can have it send again what it has given up. */
  readonly sendsByHand: boolean;
  /** Makes a request. `failed`: how many tries failed before, and why the last one did. */
  readonly request: (happening: Happening, failed: { readonly count: number; readonly reason: string }) => RequestInit;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

function hmac(text: string): string {
  return createHmac("sha256", secret).update(text).digest("hex");
}

function seconds(): string {
  return String(Math.floor(Date.now() / 1_000));
}

/**
 * It tries for up to three days, with longer and longer pauses, in no order, and may send twice what was answered. How long
 * the pauses are and how long it waits, it does not say. A person can have it send again.
 */
const stripe: Sender = {
  verify: stripeSignature(secretOf),
  read: (event) => Object(event).data.object,
  patienceMs: 20_000,
  pausesMs: [5 * minuteMs, 30 * minuteMs, ...[2, 5, 10, 12, 12, 12, 12].map((hours) => hours * hourMs)],
  sendsByHand: true,
  request: (happening) => {
    const body = JSON.stringify({ id: happening.id, type: happening.type, data: { object: happening } });
    const time = seconds();
    return post(body, { "stripe-signature": `t=${time},v1=${hmac(`${time}.${body}`)}` });
  },
};

/** It waits ten seconds and never tries again. A person, or a script, can have it deliver again: with the same GUID. */
const github: Sender = {
  verify: githubSignature(secretOf),
  read: (event) => Object(event).payload,
  patienceMs: 10_000,
  pausesMs: [],
  sendsByHand: true,
  request: (happening) => {
    const body = JSON.stringify(happening);
    return post(body, {
      "x-github-event": happening.type,
      "x-github-hook-id": "1",
      "x-github-delivery": happening.id,
      "x-hub-signature-256": `sha256=${hmac(body)}`,
    });
  },
};

/** It waits three seconds and tries three times more: at once, after a minute and after five. Then the event is gone. */
const slack: Sender = {
  verify: slackSignature(secretOf),
  read: (event) => Object(event).event,
  patienceMs: 3_000,
  pausesMs: [0, minuteMs, 5 * minuteMs],
  sendsByHand: false,
  request: (happening, { count, reason }) => {
    const body = JSON.stringify({ type: "event_callback", event_id: happening.id, event: happening });
    const time = seconds();
    const again = { "x-slack-retry-num": String(count), "x-slack-retry-reason": reason };
    return post(body, {
      "x-slack-request-timestamp": time,
      "x-slack-signature": `v0=${hmac(`v0:${time}:${body}`)}`,
      ...(count > 0 && again),
    });
  },
};

export const senders = { stripe, github, slack } as const;

function post(body: string, headers: Record<string, string>): RequestInit {
  return { method: "POST", body, headers: { "content-type": "application/json", ...headers } };
}
