/** What is known of a run beside its timeline: its facts, why it is where it is, its epochs, and what people did to it. */
import { html } from "hono/html";
import type { HistoryView } from "../../../client/history-view.ts";
import { isOver, type RunView } from "../../../client/run-view.ts";
import { failedUndosIn } from "../../../client/undo-view.ts";
import type { DashboardVisit, Html } from "../screens.ts";
import { age, lasting, time } from "../times.ts";
import { briefly, counted, errorLine, errorValueBox, statusBadge } from "../values.ts";

export function heading(run: RunView, { root, seesStacks }: Pick<DashboardVisit, "root" | "seesStacks">): Html {
  const { workflow, version, runId, id, status, tags, createdAt, endedAt, timeoutAt, undos, pausedAt, interrupted } =
    run;
  const untaken = Object.entries(run.untaken).map(([name, count]) => `${count} × ${name}`);
  const said = briefly(run.customStatus, seesStacks, 500);
  const isTimed = timeoutAt !== undefined && !isOver(status);
  const fact = (name: string, value: Html | string | undefined) =>
    value === undefined || value === "" ? "" : html`<dt>${name}</dt><dd>${value}</dd>`;
  const tagLinks = Object.entries(tags).map(([name, value]) => tagLink(name, value, root));
  return html`<h1>${workflow}@${version} ${id ?? ""} ${statusBadge(status)}</h1>
<dl class="facts">
${fact("Run", html`<code>${runId}</code>`)}
${fact("Started", html`${time(createdAt)} (${age(createdAt)})`)}
${fact("Ended", endedAt && html`${time(endedAt)}, after ${lasting(endedAt.getTime() - createdAt.getTime())}`)}
${fact("Times out", isTimed ? time(timeoutAt) : undefined)}
${fact("Paused", pausedAt && html`${time(pausedAt)}${run.isHeld ? ", with its workflow" : ""}`)}
${fact("Says", said)}
${fact("Undone", undos && `${undos.done - (undos.failed ?? 0)} of ${undos.owed} undos${undos.failed === undefined || undos.failed === 0 ? "" : `, and ${undos.failed} failed for good`}`)}
${fact("Not taken", untaken.join(", "))}
${fact("Interrupted", interrupted === 0 ? undefined : `its process died ${counted(interrupted, "time")} in a row`)}
${fact("Tags", tagLinks.length === 0 ? undefined : html`${tagLinks}`)}
</dl>`;
}

/** The list of the runs with that tag. Signs that mean something in a filter are escaped. */
function tagLink(name: string, value: string, root: string): Html {
  const escaped = name.replace(/[%:,]/g, (sign) => encodeURIComponent(sign));
  const link = `${root}?${new URLSearchParams({ tag: `${escaped}:${value}` })}`;
  return value.includes(",") ? html`<span>${name}:${value}</span> ` : html`<a href="${link}">${name}:${value}</a> `;
}

/** Why the run is where it is. People come for it. */
export function reasonsOf(run: RunView, seesStacks: boolean): Html | string {
  const { blocked, status, setback, error, refusedBy } = run;
  const undone = error === undefined ? [] : failedUndosIn(error);
  return html`${status === "blocked" ? html`<div class="error"><p>Blocked: ${blocked}</p><p>Deploy the code that fits this history: the new deployment tries again by itself.</p></div>` : ""}
${setback === undefined ? "" : html`<div class="error"><p>Held up${setback.path === undefined ? "" : ` at ${setback.path}`}: ${setback.reason}</p><p>It is tried again at ${time(setback.until)}. It has been held up since ${time(setback.since)}.</p></div>`}
${refusedBy.map(({ deployment, at, why }) => html`<div class="error"><p>Refused by the deployment ${deployment}, at ${time(at)}: ${why}</p></div>`)}
${error === undefined ? "" : html`<div class="panel">${errorValueBox(error, seesStacks)}</div>`}
${undone.map(({ step, error: why }) => html`<div class="error"><p>${step} is not undone: ${errorLine(why)}</p></div>`)}`;
}

export function epochsOf(run: RunView, { epochs, epoch: shown }: HistoryView): Html | string {
  if (epochs.length === 0) return "";
  const link = (epoch: number) =>
    epoch === shown ? html`<strong>Epoch ${epoch}</strong>` : html`<a href="?epoch=${epoch}">Epoch ${epoch}</a>`;
  return html`<h2>Epochs</h2><ul class="plain">
${epochs.some(({ epoch }) => epoch === 1) ? html`<li>${link(0)}, from ${time(run.createdAt)}</li>` : ""}
${epochs.map(({ epoch, why, beganAt, kept }) => html`<li>${link(epoch)}, ${why === "continued" ? "continued as new" : `${why}, with ${counted(kept, "record")} of before`}, from ${time(beganAt)}</li>`)}
</ul>`;
}

export function operationsOf({ operations }: HistoryView): Html | string {
  if (operations.length === 0) return "";
  return html`<h2>What people did</h2><ul class="plain">${operations.map(
    ({ verb, by, reason, at, verdict }) =>
      html`<li><strong>${verb}</strong>${by === undefined ? "" : ` by ${by}`}, ${time(at)}: ${verdict.replaceAll("_", " ")}${reason === undefined ? "" : html`<br><span class="quiet">${reason}</span>`}</li>`,
  )}</ul>`;
}
