/** The timeline of a run in HTML: a row for each place, with its bar to scale, and inside what came of it. */
import { html } from "hono/html";
import type { AttemptView, HistoryView, PendingView, RecordView } from "../../../client/history-view.ts";
import type { RunView } from "../../../client/run-view.ts";
import { isErrorValue } from "../../../client/undo-view.ts";
import { isRecord } from "../../../core/codec/tag-checks.ts";
import type { Html } from "../screens.ts";
import { lasting, time } from "../times.ts";
import { counted, errorLine, errorValueBox, valueBox } from "../values.ts";
import { type Row, type Timeline, timelineOf } from "./rows.ts";

interface Terms {
  /** The way to the dashboard's root. */
  readonly root: string;
  readonly seesStacks: boolean;
  readonly nowMs: number;
}

/** The width of the drawing, in units of its own. */
const width = 1_000;
const height = 20;
/** What is short is still to be seen. */
const leastWidth = 4;

export function timeline(run: RunView, history: HistoryView, terms: Terms): Html {
  const made = timelineOf(run, history, terms.nowMs);
  if (made.rows.length === 0) return html`<p class="none">Nothing has happened yet.</p>`;
  const took = made.to - made.from;
  const ticks = [0, 0.5, 1].map((part) => html`<span>${lasting(took * part)}</span>`);
  return html`<ol class="timeline">
<li class="scale"><div class="row"><span class="label">since ${time(new Date(made.from))}</span><span class="ticks">${ticks}</span><span class="took">took</span></div></li>
${made.rows.map((row, index) => html`<li>${rowOf(row, index, made, run, terms)}</li>`)}
</ol>`;
}

function rowOf(row: Row, index: number, made: Timeline, run: RunView, terms: Terms): Html {
  const { record, pending, attempts, depth, look } = row;
  const line = html`<span class="label">${row.label}${glance(row)}</span>${bar(row, made)}<span class="took">${lasting(row.to - row.from)}</span>`;
  if (look === "group") return html`<div class="row deep${depth}">${line}</div>`;
  const id = record === undefined ? `row-${index}-${row.label}` : `row-${record.position}`;
  return html`<details id="${id}"><summary class="row deep${depth}">${line}</summary>
<div class="inside">
${record === undefined ? "" : recorded(record, run, terms)}
${pending === undefined ? "" : waited(pending, terms)}
${attempts.map((attempt) => failedAttempt(attempt, terms))}
</div></details>`;
}

/** What a row says without being opened. Colours say nothing that words do not. */
function glance({ look, record, attempts }: Row): Html | string {
  const failed = attempts.length;
  const tries = failed === 0 ? "" : ` · ${counted(failed, "attempt")} failed`;
  if (record?.hasTimedOut) return html` <span class="quiet">timed out${tries}</span>`;
  if (look === "failed") return html` <span class="bad">failed${tries}</span>`;
  if (look === "open") return html` <span class="busy">under way${tries}</span>`;
  if (record === undefined && look === "wait") return html` <span class="calm">waiting${tries}</span>`;
  return tries === "" ? "" : html` <span class="quiet">${tries.slice(3)}</span>`;
}

/** The bar of a row, drawn to scale. The words beside it tell the same. */
function bar({ from, to, look, attempts }: Row, scale: Timeline): Html {
  const marks = attempts.map(({ beganAt, endedAt }) => rect(beganAt.getTime(), endedAt.getTime(), "failed", scale));
  return html`<svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" aria-hidden="true" focusable="false">${rect(from, to, attempts.length > 0 && look !== "group" ? "wait" : look, scale)}${marks}${
    attempts.length > 0 && (look === "done" || look === "open")
      ? rect(attempts.at(-1)?.endedAt.getTime() ?? from, to, look, scale)
      : ""
  }</svg>`;
}

function rect(from: number, to: number, look: string, scale: Timeline): Html {
  const unit = width / (scale.to - scale.from);
  const wide = Math.max(leastWidth, Math.min(to - from, scale.to - from) * unit);
  const x = Math.min(Math.max(0, (from - scale.from) * unit), width - wide);
  const tall = look === "group" ? 4 : 12;
  return html`<rect class="${look}" x="${x.toFixed(1)}" y="${(height - tall) / 2}" width="${wide.toFixed(1)}" height="${tall}"></rect>`;
}

function recorded(record: RecordView, run: RunView, { root, seesStacks }: Terms): Html {
  const { kind, position, value, isFailure, attempts, beganAt, recordedAt, childRunId, isGiven, givenBy } = record;
  const whole = `${root}runs/${run.runId}/records/${position}`;
  return html`<dl class="facts">
<dt>Record</dt><dd>${position}, a ${kind}${attempts > 1 ? `, after ${counted(attempts, "attempt")}` : ""}</dd>
${beganAt === undefined ? "" : html`<dt>Began</dt><dd>${time(beganAt)}</dd>`}
<dt>Recorded</dt><dd>${time(recordedAt)}</dd>
${isGiven ? html`<dt>Given by</dt><dd>${givenBy ?? "somebody"}</dd>` : ""}
${childRunId === undefined ? "" : html`<dt>Run</dt><dd><a href="${root}runs/${childRunId}">${childRunId}</a></dd>`}
</dl>
${record.hasTimedOut ? "" : kind === "ending" ? ending(value, seesStacks) : isFailure || kind === "closing" ? errorValueBox(isErrorValue(value) ? value : undefined, seesStacks) : kind === "sleep" ? "" : valueBox(value, seesStacks, whole)}`;
}

/** A record in full, on a page of its own. */
export function recordValue({ kind, value, isFailure }: RecordView, seesStacks: boolean): Html {
  if (kind === "ending") return ending(value, seesStacks);
  return isFailure ? errorValueBox(isErrorValue(value) ? value : undefined, seesStacks) : valueBox(value, seesStacks);
}

function ending(value: unknown, seesStacks: boolean): Html {
  if (!isRecord(value) || !Array.isArray(value["owed"])) return html`<p class="quiet">It cannot be shown.</p>`;
  const { next, error, owed } = value;
  return html`<p>The run ends as ${String(next)}, after ${counted(owed.length, "undo")}.</p>
${isErrorValue(error) ? errorValueBox(error, seesStacks) : ""}`;
}

function waited(row: PendingView, { root }: Terms): Html {
  const { childRunId, leasedUntil, readyAt, until, interrupted, isQueued, kind } = row;
  return html`<dl class="facts">
<dt>Waits</dt><dd>${waitsFor(row)}</dd>
${childRunId === undefined ? "" : html`<dt>Run</dt><dd><a href="${root}runs/${childRunId}">${childRunId}</a></dd>`}
${kind === "sleep" || kind === "signal" || kind === "callback" || kind === "child" ? html`<dt>Until</dt><dd>${until === undefined ? "for ever" : time(until)}</dd>` : ""}
${leasedUntil === undefined ? "" : html`<dt>At work</dt><dd>its lease stands until ${time(leasedUntil)}</dd>`}
${leasedUntil === undefined && readyAt !== undefined && !isQueued ? html`<dt>Ready at</dt><dd>${time(readyAt)}</dd>` : ""}
${interrupted === 0 ? "" : html`<dt>Interrupted</dt><dd>its process died ${counted(interrupted, "time")} in a row</dd>`}
</dl>`;
}

/** What a run waits for, in words. */
function waitsFor({ kind, signal, isQueued, leasedUntil, attempts }: PendingView): string {
  switch (kind) {
    case "sleep":
      return "for the end of a sleep";
    case "signal":
      return `for the signal ${JSON.stringify(signal ?? "")}`;
    case "callback":
      return "for the answer to a callback";
    case "child":
      return "for the end of another run";
    case "retry":
    case "branch":
      break;
  }
  if (leasedUntil !== undefined) return "for nothing: it is at work";
  if (isQueued) return "for one of the slots of its map";
  return attempts > 0 ? "for its next attempt" : "to be carried out";
}

function failedAttempt({ number, beganAt, endedAt, error, requestId }: AttemptView, { seesStacks }: Terms): Html {
  return html`<section><h3>Attempt ${number} failed</h3>
<p class="quiet">${time(beganAt)}, after ${lasting(endedAt.getTime() - beganAt.getTime())}${requestId === undefined ? "" : `, request ${requestId}`}</p>
${seesStacks ? errorValueBox(error, true) : html`<p>${error === undefined ? "No reason was stored." : errorLine(error)}</p>`}</section>`;
}
