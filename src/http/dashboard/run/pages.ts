/** The pages of one run: what it did, what it waits for, and what a person may do to it; one of its records in full. */
import { html } from "hono/html";
import type { HistoryView } from "../../../client/history-view.ts";
import { isOver, type RunView } from "../../../client/run-view.ts";
import { LayoverError } from "../../../core/errors.ts";
import { queryNumber } from "../../fields.ts";
import type { Route } from "../../route.ts";
import type { DashboardTerms } from "../mount.ts";
import type { DashboardVisit, Html, Screens, Shown } from "../screens.ts";
import { textOf, valueBox } from "../values.ts";
import { actsOf } from "./acts.ts";
import { epochsOf, heading, operationsOf, reasonsOf } from "./facts.ts";
import { recordValue, timeline } from "./timeline.ts";

/** How many records a page shows. */
const pageSize = 200;

export function runPages(terms: DashboardTerms, { page }: Screens): readonly Route[] {
  return [
    page("runs/:id", async (visit) => await runPage(visit, terms), true),
    page("runs/:id/records/:position", recordPage),
    page("runs/:id/values/:value", valuePage),
  ];
}

async function runPage(visit: DashboardVisit, terms: DashboardTerms): Promise<Shown> {
  const { client, query, root, seesStacks } = visit;
  const run = await client.get(visit.param("id"));
  const epoch = queryNumber(query, "epoch");
  const isNewest = epoch === undefined || epoch === run.epoch;
  const after = queryNumber(query, "after") ?? (isNewest ? Math.max(0, run.records - pageSize) : 0);
  const history = await client.history(run.runId, { after, limit: pageSize, epoch });
  const nowMs = Date.now();
  const { workflow, id } = run;
  return {
    title: `${workflow} ${id ?? run.runId.slice(-12)}`,
    content: html`<section id="state" data-live>${heading(run, visit)}${reasonsOf(run, seesStacks)}</section>
<section id="acts" data-live aria-label="What you may do">${actsOf(run, history, visit, terms)}</section>
<section id="history" data-live><h2>Timeline</h2>
${pager(run, history, after)}
<div class="panel">${timeline(run, history, { root, seesStacks, nowMs })}</div>
</section>
<section id="values" data-live><h2>Input</h2>${valueBox(run.input, seesStacks, `${root}runs/${run.runId}/values/input`)}
${run.status === "completed" ? html`<h2>Result</h2>${valueBox(run.result, seesStacks, `${root}runs/${run.runId}/values/result`)}` : ""}</section>
<section id="past" data-live>${epochsOf(run, history)}${operationsOf(history)}</section>`,
    news: newsOf(run, history, seesStacks),
  };
}

/** What is new to somebody who looks. The times at which the scheduler looks are not. */
function newsOf(
  run: RunView,
  { attemptCount, pending, operations, epoch, epochs }: HistoryView,
  seesStacks: boolean,
): unknown {
  const { status, records, blocked, pausedAt, setback, untaken, undos, interrupted, endedAt } = run;
  const waits = pending.map(({ path, occurrence, kind, attempts }) => [path, occurrence, kind, attempts]);
  const said = textOf(run.customStatus, seesStacks);
  return [
    status,
    records,
    blocked,
    pausedAt,
    setback,
    untaken,
    undos,
    interrupted,
    endedAt,
    said,
    attemptCount,
    waits,
    operations.length,
    epoch,
    epochs.length,
  ];
}

function pager({ records, epoch: newest }: RunView, history: HistoryView, after: number): Html | string {
  const { epoch, next } = history;
  const [first] = history.records;
  const last = history.records.at(-1);
  if (first === undefined || last === undefined) return "";
  if (after === 0 && next === undefined) return "";
  const to = (position: number) => `?after=${position}${epoch === newest ? "" : `&epoch=${epoch}`}`;
  const whole = epoch === newest ? ` of ${records}` : "";
  return html`<nav class="pager" aria-label="Pages of the timeline"><p>Records ${first.position} to ${last.position}${whole}</p>
${after > 0 ? html`<a class="button" href="${to(0)}">First</a><a class="button" href="${to(Math.max(0, after - pageSize))}">Earlier</a>` : ""}
${next === undefined ? "" : html`<a class="button" href="${to(next)}">Later</a>`}
${next === undefined || epoch !== newest ? "" : html`<a class="button" href="?">Last</a>`}</nav>`;
}

async function recordPage({ client, param, query, root, seesStacks }: DashboardVisit): Promise<Shown> {
  const position = /^\d{1,9}$/.test(param("position")) ? Number(param("position")) : 0;
  const history = await client.history(param("id"), {
    after: Math.max(0, position - 1),
    limit: 1,
    epoch: queryNumber(query, "epoch"),
  });
  const [record] = history.records;
  if (position < 1 || record?.position !== position)
    throw nothingThere(`the run has no record ${param("position").slice(0, 20)}`);
  const title = `Record ${position}: ${record.path === "" ? record.kind : record.path}`;
  return {
    title,
    content: html`<h1>${title}</h1><p><a href="${root}runs/${history.runId}">Back to the run</a></p>${recordValue(record, seesStacks)}`,
  };
}

async function valuePage({ client, param, root, seesStacks }: DashboardVisit): Promise<Shown> {
  const run = await client.get(param("id"));
  const which = param("value");
  if (which !== "input" && which !== "result") throw nothingThere("a run has an input and a result");
  const title = `${which === "input" ? "Input" : "Result"} of ${run.workflow} ${run.id ?? run.runId}`;
  const value = which === "input" ? run.input : isOver(run.status) ? run.result : undefined;
  return {
    title,
    content: html`<h1>${title}</h1><p><a href="${root}runs/${run.runId}">Back to the run</a></p>${valueBox(value, seesStacks)}`,
  };
}

function nothingThere(what: string): LayoverError {
  return new LayoverError("not_found", what, { hint: "Follow a link of the run's page." });
}
