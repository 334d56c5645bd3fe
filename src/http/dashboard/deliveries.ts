/** What senders have delivered to webhooks, and having it carried out again. A deployment without webhooks has no such page. */
import { html, raw } from "hono/html";
import { type DeliveryView, deliveryView, pageCall, pageOfDeliveries } from "../../client/deliveries.ts";
import { translated } from "../../client/over-postgres/failure.ts";
import type { Route } from "../route.ts";
import { unknownDelivery } from "../unknown-delivery.ts";
import type { DashboardTerms } from "./mount.ts";
import type { DashboardVisit, Html, Screens, Shown } from "./screens.ts";
import { age, time } from "./times.ts";
import { counted, cut, valueBox } from "./values.ts";

export function deliveryPages({ webhooks }: DashboardTerms, { page }: Screens): readonly Route[] {
  if (webhooks.length === 0) return [];
  return [page("deliveries", listPage, true), page("deliveries/:name/:id", deliveryPage)];
}

async function listPage({ client, query, root }: DashboardVisit): Promise<Shown> {
  const webhook = query.get("webhook") || undefined;
  const isOpen = query.get("open") === "true";
  const call = pageCall({ webhook, isOpen, cursor: query.get("cursor") ?? undefined });
  const { deliveries, cursor } = pageOfDeliveries(
    call,
    await client.within(({ calls }) => translated(() => calls.listDeliveries(call))),
  );
  const older = new URLSearchParams({
    ...(webhook !== undefined && { webhook }),
    ...(isOpen && { open: "true" }),
    cursor: cursor ?? "",
  });
  return {
    title: "Deliveries",
    content: html`<h1>Deliveries</h1>
<form class="filter" role="search" aria-label="Filter the deliveries">
<div class="field"><label for="webhook">Webhook</label><input id="webhook" name="webhook" value="${webhook ?? ""}" autocomplete="off"></div>
<div class="field"><label class="option"><input type="checkbox" name="open" value="true"${raw(isOpen ? " checked" : "")}> Only what was not carried out</label></div>
<div class="buttons"><button class="primary">Show</button></div></form>
<section id="deliveries" data-live>
${deliveries.length === 0 ? html`<p class="none">There is no such delivery.</p>` : html`<ul class="runs">${deliveries.map((each) => row(each, root))}</ul>`}
<nav class="pager" aria-label="Pages of the list">${cursor === undefined ? "" : html`<a class="button" href="?${older}">Older</a>`}</nav></section>`,
    news: deliveries.map(({ webhook, id, outcome, attempts }) => [webhook, id, outcome, attempts]),
  };
}

function row({ webhook, id, outcome, reason, receivedAt }: DeliveryView, root: string): Html {
  return html`<li><a href="${root}deliveries/${encodeURIComponent(webhook)}/${encodeURIComponent(id)}"><span class="workflow">${webhook}</span> <span class="id">${id}</span></a>
${badge(outcome)} <span class="age">${age(receivedAt)}</span> <span class="remark">${cut(reason ?? "", 160)}</span></li>`;
}

const moods: Readonly<Record<DeliveryView["outcome"], string>> = {
  done: "good",
  waiting: "calm",
  refused: "bad",
  failed: "bad",
  expired: "warn",
};

function badge(outcome: DeliveryView["outcome"]): Html {
  return html`<span class="badge ${moods[outcome] ?? "over"}">${outcome}</span>`;
}

async function deliveryPage({ client, param, root, caller, seesStacks }: DashboardVisit): Promise<Shown> {
  const key = { webhook: param("name"), delivery: param("id") };
  const found = await client.within(({ calls }) => translated(() => calls.getDelivery(key)));
  if (found.outcome === "unknown") throw unknownDelivery(key.webhook, key.delivery);
  const { webhook, id, outcome, reason, deeds, attempts, receivedAt, decidedAt, replays, event, headers } =
    deliveryView(found);
  const action = `${root}deliveries/${encodeURIComponent(webhook)}/${encodeURIComponent(id)}/replay`;
  return {
    title: `Delivery ${id}`,
    content: html`<section id="delivery" data-live><h1>${webhook} ${id} ${badge(outcome)}</h1>
${reason === undefined ? "" : html`<div class="error"><p>${reason}</p></div>`}
<dl class="facts"><dt>Received</dt><dd>${time(receivedAt)}</dd><dt>Decided</dt><dd>${time(decidedAt)}</dd><dt>Came</dt><dd>${counted(attempts, "time")}</dd></dl>
<h2>What it did</h2>${deeds.length === 0 ? html`<p class="quiet">nothing</p>` : html`<ul class="plain">${deeds.map(({ runId, outcome: start, signal }) => html`<li>${start === undefined ? "" : `start: ${start}. `}${signal === undefined ? "" : `signal: ${signal}. `}${runId === null ? "" : html`<a href="${root}runs/${runId}">${runId}</a>`}</li>`)}</ul>`}
${replays.length === 0 ? "" : html`<h2>Played again</h2><ul class="plain">${replays.map(({ by, reason: why, at }) => html`<li>${time(at)}${by === undefined ? "" : ` by ${by}`}${why === undefined ? "" : `: ${why}`}</li>`)}</ul>`}</section>
${caller.scopes.includes("admin") && headers !== undefined ? replayForm(action) : ""}
<h2>Event</h2>${headers === undefined ? html`<p class="quiet">It is deleted: events are kept for a week.</p>` : html`${valueBox(event, seesStacks)}<h2>Headers</h2>${valueBox(headers, seesStacks)}`}`,
    news: [outcome, attempts, replays.length, deeds.length],
  };
}

function replayForm(action: string): Html {
  return html`<div class="acts"><details id="act-replay"><summary>Play it again</summary><form data-act="replay" action="${action}" method="post">
<p>The code of the webhook is asked again what to do, and that is done.</p>
<div class="field"><label for="replay-reason">Why <span class="quiet">(optional)</span></label><input id="replay-reason" name="reason" autocomplete="off" maxlength="2000"></div>
<button class="primary">Play it again</button></form></details></div>`;
}
