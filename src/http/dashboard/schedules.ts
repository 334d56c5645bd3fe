/** Schedules: when each fires next, why one does not, and its buttons. */
import { html } from "hono/html";
import { v7 } from "uuid";
import { calendarText, troublesOf } from "../../client/schedule-text.ts";
import type { ScheduleView } from "../../client/schedules.ts";
import type { Route } from "../route.ts";
import type { DashboardVisit, Html, Screens, Shown } from "./screens.ts";
import { age, time } from "./times.ts";
import { counted } from "./values.ts";

export function schedulePages({ page }: Screens): readonly Route[] {
  return [page("schedules", listPage, true), page("schedules/:name", schedulePage)];
}

async function listPage({ client, query, root }: DashboardVisit): Promise<Shown> {
  const { schedules, cursor } = await client.schedules.list({ cursor: query.get("cursor") ?? undefined });
  return {
    title: "Schedules",
    content: html`<h1>Schedules</h1><section id="schedules" data-live>
${schedules.length === 0 ? html`<p class="none">There is no schedule.</p>` : html`<ul class="runs">${schedules.map((schedule) => row(schedule, root))}</ul>`}
<nav class="pager" aria-label="Pages of the list">${cursor === undefined ? "" : html`<a class="button" href="?${new URLSearchParams({ cursor })}">Further</a>`}</nav></section>`,
    news: schedules.map(newsOf),
  };
}

function newsOf({ name, fired, skipped, nextAt, paused, changedAt }: ScheduleView): unknown {
  return [name, fired, skipped, nextAt, paused, changedAt];
}

function row(schedule: ScheduleView, root: string): Html {
  const { name, workflow, version, definition, nextAt, firesAt } = schedule;
  const [trouble] = troublesOf(schedule);
  const next = firesAt ?? nextAt;
  return html`<li><a href="${root}schedules/${encodeURIComponent(name)}"><span class="workflow">${name}</span></a>
${badge(schedule)} <span class="age">${next === undefined ? "" : age(next)}</span>
<span class="remark">${workflow}@${version}, ${calendarText(definition)}${trouble === undefined ? "" : `: ${trouble}`}</span></li>`;
}

function badge(schedule: ScheduleView): Html {
  if (schedule.paused !== undefined) return html`<span class="badge warn">paused</span>`;
  if (troublesOf(schedule).length > 0) return html`<span class="badge bad">look here</span>`;
  return schedule.nextAt === undefined
    ? html`<span class="badge over">over</span>`
    : html`<span class="badge calm">fires</span>`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

async function schedulePage({ client, param, root, caller }: DashboardVisit): Promise<Shown> {
  const schedule = await client.schedules.get(param("name"));
  const {
    name,
    workflow,
    version,
    definition,
    owner,
    nextAt,
    firesAt,
    lastAt,
    lastFiredAt,
    lastRunId,
    lastSkip,
    paused,
  } = schedule;
  const fact = (label: string, value: Html | string | undefined) =>
    value === undefined || value === "" ? "" : html`<dt>${label}</dt><dd>${value}</dd>`;
  const run = (runId: string) => html`<a href="${root}runs/${runId}">${runId}</a>`;
  return {
    title: `Schedule ${name}`,
    content: html`<section id="schedule" data-live><h1>${name} ${badge(schedule)}</h1>
${troublesOf(schedule).map((trouble) => html`<div class="error"><p>${sentence(trouble)}</p></div>`)}
<dl class="facts">
${fact("Starts", html`<a href="${root}workflows/${encodeURIComponent(workflow)}">${workflow}@${version}</a>`)}
${fact("When", calendarText(definition))}
${fact("Next", nextAt && html`${time(nextAt)}${firesAt === undefined || firesAt.getTime() === nextAt.getTime() ? "" : html`, fired at ${time(firesAt)}`}`)}
${fact("Last instant", lastAt && time(lastAt))}
${fact("Last fired", lastFiredAt && html`${time(lastFiredAt)}${lastRunId === undefined ? "" : html`: ${run(lastRunId)}`}`)}
${fact("Fired", `${counted(schedule.fired, "time")}, and left out ${counted(schedule.skipped, "time")}`)}
${fact("Last left out", lastSkip && html`${time(lastSkip.at)}: ${lastSkip.cause.replaceAll("_", " ")}${lastSkip.reason === undefined ? "" : `, ${lastSkip.reason}`}${lastSkip.runId === undefined ? "" : html` ${run(lastSkip.runId)}`}`)}
${fact("Overlap", definition.overlap ?? "skip")}
${fact("Catch up", definition.catchUp ?? "latest")}
${fact("Declared by", owner ?? "a person, at run time")}
${fact("Paused", paused && html`${time(paused.at)}${paused.by === undefined ? "" : ` by ${paused.by}`}${paused.reason === undefined ? "" : `: ${paused.reason}`}`)}
</dl></section>
<section id="acts" data-live aria-label="What you may do">${caller.scopes.includes("admin") ? acts(schedule, root) : ""}</section>`,
    news: newsOf(schedule),
  };
}

function acts({ name, paused, owner, ownerIsLive }: ScheduleView, root: string): Html {
  const action = `${root}schedules/${encodeURIComponent(name)}`;
  const form = (
    act: string,
    summary: string,
    what: string,
    keepsReason: boolean,
  ) => html`<details id="act-${act}"><summary>${summary}</summary>
<form data-act="${act}" action="${action}/${act}" method="post"><input type="hidden" name="call" value="${v7()}"><p>${what}</p>
${keepsReason ? html`<div class="field"><label for="${act}-reason">Why <span class="quiet">(optional)</span></label><input id="${act}-reason" name="reason" autocomplete="off" maxlength="2000"></div>` : ""}
<button class="primary">${summary}</button></form></details>`;
  const isDeclared = owner !== undefined && ownerIsLive;
  return html`<div class="acts">
${paused === undefined ? form("pause", "Pause", "It fires no more until it is resumed. A deploy does not end that.", true) : form("resume", "Resume", "It fires again. What was missed is made up for as its catch-up says.", false)}
${form("trigger", "Trigger", "A run is started now, beside the calendar.", true)}
${isDeclared ? "" : form("delete", "Delete", "It fires no more, and is gone. Its runs stay.", false)}
</div>`;
}
