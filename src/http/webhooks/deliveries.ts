/** What senders have delivered, for people: lists, one delivery, and having one carried out again. */

import {
  type DeliveryPage,
  type DeliveryView,
  deliveryView,
  pageCall,
  pageOfDeliveries,
} from "../../client/deliveries.ts";
import { translated } from "../../client/over-postgres/failure.ts";
import { LayoverError } from "../../core/errors.ts";
import type { Descriptions } from "../description.ts";
import { optionalText, readFields } from "../fields.ts";
import { respondTo } from "../respond.ts";
import type { Route, Visit } from "../route.ts";
import { unknownDelivery } from "../unknown-delivery.ts";
import { carryOut } from "./carry-out.ts";
import type { MountTerms, WebhookParts } from "./webhook.ts";

const replayFields = { by: optionalText, reason: optionalText };

export function deliveryRoutes(hooks: ReadonlyMap<string, WebhookParts>, terms: MountTerms): readonly Route[] {
  return [
    {
      method: "GET",
      path: "/v1/deliveries",
      scope: "read",
      isHeavy: true,
      answer: async (visit) => respondTo(visit.request, await list(visit)),
    },
    {
      method: "GET",
      path: "/v1/webhooks/:name/deliveries/:id",
      scope: "read",
      answer: async (visit) => respondTo(visit.request, await find(visit)),
    },
    {
      method: "POST",
      path: "/v1/webhooks/:name/deliveries/:id/replay",
      scope: "admin",
      answer: async (visit) => respondTo(visit.request, await replay(visit, hooks, terms)),
    },
  ];
}

async function list({ client, query }: Visit): Promise<DeliveryPage> {
  const call = pageCall({
    webhook: query.get("webhook") ?? undefined,
    isOpen: query.get("open") === "true",
    cursor: query.get("cursor") ?? undefined,
    ...(query.has("limit") && { limit: Number(query.get("limit")) }),
  });
  return await client.within(async ({ calls }) =>
    pageOfDeliveries(call, await translated(() => calls.listDeliveries(call))),
  );
}

async function find({ client, param }: Visit): Promise<DeliveryView> {
  const key = { webhook: param("name"), delivery: param("id") };
  const found = await client.within(({ calls }) => translated(() => calls.getDelivery(key)));
  if (found.outcome === "unknown") throw unknownDelivery(key.webhook, key.delivery);
  return deliveryView(found);
}

/** Asks the code again what to do for a delivery that came before, and does it. The signature was verified then. */
async function replay(
  visit: Visit,
  hooks: ReadonlyMap<string, WebhookParts>,
  terms: MountTerms,
): Promise<{ readonly outcome: string; readonly reason?: string | undefined }> {
  const { by, reason } = await readFields(visit.request, terms.maxBytes, replayFields);
  const hook = hooks.get(visit.param("name"));
  const { webhook, id, event, headers } = await find(visit);
  if (hook === undefined)
    throw new LayoverError("unknown_delivery", `there is no webhook ${JSON.stringify(webhook)} in this deployment`, {
      hint: "Give it to serve, as the deployment did that took the delivery: serve({ workflows, webhooks: [stripe] }).",
    });
  if (headers === undefined)
    throw new LayoverError("not_applicable", `the event of the delivery ${id} is deleted`, {
      hint: "Events are kept for a week. Let the sender deliver it again.",
    });
  const replayed = { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
  const given = {
    id: { webhook, delivery: id },
    kept: { replay: replayed },
    event,
    headers: new Headers(headers),
    terms,
  };
  const { result } = await visit.client.within((context) => carryOut(hook, { ...given, context }));
  if (result === undefined) return { outcome: "ignored" };
  return { outcome: result.outcome, ...("reason" in result && result.reason !== null && { reason: result.reason }) };
}

export function webhookDescriptions(): Descriptions {
  return {
    "POST /webhooks/:name": {
      id: "receive",
      does: "Takes a delivery of a sender. The sender's signature is the permission.",
      body: "Delivery",
      answers: { 200: "AnyValue", 202: "AnyValue", 422: "Received" },
      problems: ["unauthorized", "invalid_request", "body_too_large", "webhook_failed"],
    },
    "GET /webhooks/:name": {
      id: "answerHandshake",
      does: "Answers a sender that asks first, before it delivers anything.",
      answers: { 200: "AnyValue" },
      problems: ["unauthorized", "webhook_failed"],
      needsNoDatabase: true,
    },
    "GET /v1/deliveries": {
      id: "listDeliveries",
      does: "Lists what senders have delivered, the newest first.",
      query: ["webhook", "open", "limit", "cursor"],
      answers: { 200: "DeliveryPage" },
      problems: ["invalid_request", "invalid_cursor"],
    },
    "GET /v1/webhooks/:name/deliveries/:id": {
      id: "getDelivery",
      does: "Answers a delivery, with its event.",
      answers: { 200: "Delivery" },
      problems: ["unknown_delivery", "invalid_request"],
    },
    "POST /v1/webhooks/:name/deliveries/:id/replay": {
      id: "replayDelivery",
      does: "Carries out a delivery again, by the code of today.",
      body: replayFields,
      answers: { 200: "Replayed" },
      problems: ["unknown_delivery", "not_applicable", "webhook_failed"],
    },
  };
}
