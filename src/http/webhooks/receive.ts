/**
 * Answers a request of a sender. Until the request is verified nothing is asked of the database, and `on` is called before
 * anything is written. Then one statement notes the delivery and carries it out. So if anything dies in between, the
 * sender gets no answer, sends again, and the delivery is done once.
 */
import type { ClientContext } from "../../client/over-postgres/client-context.ts";
import { parse } from "../../core/contract/schema.ts";
import { LayoverError } from "../../core/errors.ts";
import type { DeliveryAnswer } from "../../postgres/wire-webhooks.ts";
import { readBytes } from "../body.ts";
import { respondTo } from "../respond.ts";
import type { Visit } from "../route.ts";
import type { Deed } from "./deeds.ts";
import { type DeliveryId, deliver, type Kept, newDeliveryId, note, storableId } from "./deliver.ts";
import type { SenderAnswer, SenderRequest, Verdict } from "./verifier.ts";
import type { Decision, MountTerms, WebhookParts } from "./webhook.ts";

const hourMs = 60 * 60 * 1_000;

/** How long the same body is the same delivery, where the sender's signature does not cover the id. */
const unsignedIdMs = 96 * hourMs;

/** The same where the sender has no id at all. Two that are alike may be two. */
const noIdMs = 10 * 60 * 1_000;

/** The most deeds of a delivery. */
const mostDeeds = 10;

/** Headers that may hold keys of the sender's. They are not kept. */
const secretHeaders = ["authorization", "cookie", "proxy-authorization"];

export async function receive(hook: WebhookParts, { request, client }: Visit, terms: MountTerms): Promise<Response> {
  const sent = await requestOf(request, terms.maxBytes);
  const verdict = hook.verify(sent);
  if (verdict.outcome === "answered") return answerOf(verdict.answer);
  if (verdict.outcome === "refused") {
    terms.tell({ kind: "webhook_unverified", webhook: hook.name, reason: verdict.reason });
    throw new LayoverError("unauthorized", `this request is not signed as ${hook.sender} signs its own`, {
      hint: "Compare the secret of the webhook with the sender's. The log of this server says more.",
    });
  }
  const id = idOf(hook, verdict, sent, terms);
  const headers = keptHeaders(request.headers);
  const kept = { headers: JSON.stringify(Object.fromEntries(headers)), event: JSON.stringify(verdict.event ?? null) };
  const { answer, result } = await client.within((context) =>
    carryOut(hook, { context, id, kept, event: verdict.event, headers, terms }),
  );
  if (result === undefined) return answer === undefined ? respondTo(request, { outcome: "ignored" }) : answerOf(answer);
  if (result.outcome === "refused")
    return respondTo(request, { outcome: "refused", delivery: result.delivery }, { status: hook.refusedStatus });
  if (answer !== undefined) return answerOf(answer);
  return respondTo(request, { outcome: result.outcome, delivery: result.delivery });
}

export interface Carried {
  /** Undefined: there was nothing to do. */
  readonly result?: DeliveryAnswer | undefined;
  readonly answer?: SenderAnswer | undefined;
}

interface CarryOutTerms {
  readonly context: ClientContext;
  readonly id: DeliveryId;
  readonly kept: Kept;
  readonly event: unknown;
  readonly headers: Headers;
  readonly terms: MountTerms;
}

/** Asks the code what to do, and does it. @throws LayoverError `webhook_failed` if the code threw, once that is noted */
export async function carryOut(hook: WebhookParts, given: CarryOutTerms): Promise<Carried> {
  const { context, id, kept, headers, terms } = given;
  const { tell } = terms;
  const refused = (reason: string) =>
    tell({ kind: "delivery_refused", webhook: hook.name, delivery: id.delivery, outcome: "refused", reason });
  let decided: Decided;
  try {
    const parsed = await parsedEvent(hook, given.event);
    if ("refused" in parsed) {
      refused(parsed.refused);
      return { result: await note(context, id, { ...kept, ...parsed }) };
    }
    decided = decisionOf(hook, hook.on(parsed.event, headers));
  } catch (error) {
    return await fail(hook, given, error);
  }
  const { deeds, ignored, answer } = decided;
  if (ignored !== undefined) tell({ kind: "delivery_ignored", webhook: hook.name, reason: ignored });
  if (deeds.length === 0) return { answer };
  try {
    const result = await deliver(context, id, deeds, kept);
    if (result.outcome === "refused") refused(result.reason ?? "");
    return { result, answer };
  } catch (error) {
    if (error instanceof LayoverError) throw error;
    return await fail(hook, given, error); // a schema of the contract threw
  }
}

/** Notes that the code threw. The sender is told so, and tries again. */
async function fail(
  { name }: WebhookParts,
  { context, id, kept, terms }: CarryOutTerms,
  error: unknown,
): Promise<never> {
  const failed = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  terms.tell({ kind: "delivery_refused", webhook: name, delivery: id.delivery, outcome: "failed", reason: failed });
  await note(context, id, { ...kept, failed });
  throw new LayoverError("webhook_failed", `the code of the webhook ${name} threw`, {
    hint: "Send it again, or have it carried out after a fix: `layover webhooks replay`.",
    cause: error,
  });
}

interface Decided {
  readonly deeds: readonly Deed[];
  readonly answer: SenderAnswer | undefined;
  readonly ignored: string | undefined;
}

/** Sorts what `on` has answered. @throws TypeError if it is no decision */
function decisionOf({ name }: WebhookParts, decision: Decision): Decided {
  const all = Array.isArray(decision) ? decision : [decision];
  const deeds: Deed[] = [];
  let answer: SenderAnswer | undefined;
  let ignored: string | undefined;
  for (const each of all) {
    switch (each?.kind) {
      case "start":
      case "signal":
        deeds.push(each);
        break;
      case "answer":
        answer = each.answer;
        break;
      case "ignore":
        ignored = each.reason;
        break;
      default:
        throw new TypeError(
          `\`on\` of the webhook ${name} answered ${typeof each}. It answers start(…), signal(…), signalWithStart(…), ignore(…) or answer(…), or a list of these, and no promise`,
        );
    }
  }
  if (deeds.length > mostDeeds)
    throw new TypeError(
      `\`on\` of the webhook ${name} answered ${deeds.length} starts and signals. Up to ${mostDeeds} go into one delivery`,
    );
  return { deeds, answer, ignored };
}

async function parsedEvent(
  { name, event: schema }: WebhookParts,
  event: unknown,
): Promise<{ readonly event: unknown } | { readonly refused: string }> {
  if (schema === undefined) return { event };
  const options = { code: "invalid_payload", what: `the event of webhook ${JSON.stringify(name)}` } as const;
  try {
    return { event: await parse(schema, event, options) };
  } catch (error) {
    if (error instanceof LayoverError) return { refused: error.message };
    throw error;
  }
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
  const bodyMac = () => secrets.sign("webhook", `${namespace}\n${name}\n${new TextDecoder("latin1").decode(body)}`);
  if (delivery === undefined) return { webhook, delivery: newDeliveryId(), bodyMac: bodyMac(), bodyWindowMs: noIdMs };
  const known = { webhook, delivery: storableId(delivery) };
  return isIdSigned || !comparesBodies ? known : { ...known, bodyMac: bodyMac(), bodyWindowMs: unsignedIdMs };
}

function keptHeaders(headers: Headers): Headers {
  const kept = new Headers(headers);
  for (const name of secretHeaders) kept.delete(name);
  return kept;
}

function answerOf({ status = 200, type, body }: SenderAnswer): Response {
  const isText = body === undefined || typeof body === "string";
  return new Response(isText ? body : JSON.stringify(body), {
    status,
    headers: {
      "content-type": type ?? (isText ? "text/plain; charset=utf-8" : "application/json"),
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    },
  });
}
