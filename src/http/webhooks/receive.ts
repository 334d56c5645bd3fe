/**
 * Answers a request of a sender. Until the request is verified nothing is asked of the database, and `on` is called before
 * anything is written. Then one statement notes the delivery and carries it out. So if anything dies in between, the
 * sender gets no answer, sends again, and the delivery is done once.
 */
import { LayoverError } from "../../core/errors.ts";
import { readBytes } from "../body.ts";
import { respondTo } from "../respond.ts";
import type { Visit } from "../route.ts";
import { carryOut, failure } from "./carry-out.ts";
import { type DeliveryId, newDeliveryId, storableId } from "./deliver.ts";
import { answerOf, checkedAnswer } from "./sender-answer.ts";
import type { SenderRequest, Verdict } from "./verifier.ts";
import type { LaterQueue, MountTerms, WebhookParts } from "./webhook.ts";

const hourMs = 60 * 60 * 1_000;

/** How long the same body is the same delivery, where the sender's signature does not cover the id. */
const unsignedIdMs = 96 * hourMs;

/** The same where the sender has no id at all. Two that are alike may be two. */
const noIdMs = 10 * 60 * 1_000;

/** The names of headers that may hold a key or a signature. They are not kept, and `on` does not get them. */
const secretHeaders = /auth|cookie|credential|key|password|secret|session|signature|token|(^|-)(hmac|mac|sig)(-|$)/i;

export async function receive(hook: WebhookParts, { request, client }: Visit, terms: MountTerms): Promise<Response> {
  const sent = await requestOf(request, terms.maxBytes);
  const verdict = hook.verify(sent);
  if (verdict.outcome === "answered") return answered(hook, verdict);
  if (verdict.outcome === "refused") {
    terms.tell({ kind: "webhook_unverified", webhook: hook.name, reason: verdict.reason });
    throw new LayoverError("unauthorized", `this request is not signed as ${hook.sender} signs its own`, {
      hint: "Compare the secret of the webhook with the sender's. The log of this server says more.",
    });
  }
  const id = idOf(hook, verdict, sent, terms);
  const headers = keptHeaders(hook, request.headers);
  const kept = { headers: JSON.stringify(Object.fromEntries(headers)), event: JSON.stringify(verdict.event ?? null) };
  const { answer, result } = await client.within((context) =>
    carryOut(hook, { context, id, kept, event: verdict.event, headers, terms, queue: queueFor(hook, terms) }),
  );
  const { outcome = "ignored", delivery = undefined } = result ?? {};
  if (answer !== undefined && outcome !== "refused") return answerOf(answer);
  const status = outcome === "refused" ? hook.refusedStatus : outcome === "accepted" && !hook.wantsNoBody ? 202 : 200;
  return hook.wantsNoBody ? answerOf({ status }) : respondTo(request, { outcome, delivery }, { status });
}

/** Answers a sender that only asks. @throws LayoverError `webhook_failed` if the answer is none */
function answered({ name }: WebhookParts, { answer }: Extract<Verdict<unknown>, { outcome: "answered" }>): Response {
  try {
    return answerOf(checkedAnswer(answer));
  } catch (error) {
    throw failure(name, error, "Mend what the webhook answers to a sender that asks first.");
  }
}

/** Answers the queue for a webhook that answers before. @throws LayoverError `internal` if it needs one, and there is none */
function queueFor({ name, before }: WebhookParts, { queue }: MountTerms): LaterQueue | undefined {
  if (before === "needed" && queue === undefined)
    throw new LayoverError("internal", `the webhook ${name} answers before, and there is no queue in env`, {
      hint: "Bind the queue that serve's option `queue` names, or leave `respond` out.",
    });
  return before === undefined ? undefined : queue;
}

async function requestOf(request: Request, maxBytes: number): Promise<SenderRequest> {
  const { method, url, headers } = request;
  return { method, url, headers, body: new Uint8Array(await readBytes(request, maxBytes)), now: Date.now() };
}

type Verified = Extract<Verdict<unknown>, { outcome: "verified" }>;

function idOf(
  { name, comparesBodies }: WebhookParts,
  { delivery, isIdSigned }: Verified,
  { body }: SenderRequest,
  { secrets, namespace }: MountTerms,
): DeliveryId {
  const webhook = name;
  const knownFor = (bodyWindowMs: number) => {
    const text = `${namespace}\n${name}\n${new TextDecoder("latin1").decode(body)}`;
    const [bodyMac = "", ...olderBodyMacs] = secrets.macsOf("webhook", text);
    return { bodyMac, bodyWindowMs, ...(olderBodyMacs.length > 0 && { olderBodyMacs }) };
  };
  if (delivery === undefined) return { webhook, delivery: newDeliveryId(), ...knownFor(noIdMs) };
  const known = { webhook, delivery: storableId(delivery) };
  return isIdSigned || !comparesBodies ? known : { ...known, ...knownFor(unsignedIdMs) };
}

function keptHeaders({ secretHeaders: ofSender = [] }: WebhookParts, headers: Headers): Headers {
  const kept = [...headers].filter(([name]) => !secretHeaders.test(name) && !ofSender.includes(name));
  return new Headers(kept);
}
