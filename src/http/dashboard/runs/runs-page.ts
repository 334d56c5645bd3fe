/** The list of runs, newest first. */
import { html } from "hono/html";
import type { RunView } from "../../../client/run-view.ts";
import { LayoverError } from "../../../core/errors.ts";
import type { Route } from "../../route.ts";
import type { DashboardTerms } from "../mount.ts";
import { type DashboardVisit, errorBox, type Html, type Screens, type Shown } from "../screens.ts";
import { age, time } from "../times.ts";
import { remark, statusBadge, textOf } from "../values.ts";
import { Asked, filterForm } from "./filter-form.ts";
import { type FoundRuns, findRuns } from "./find-runs.ts";

/** The part of a visit that the rows of the list need. */
type Seen = Pick<DashboardVisit, "root" | "seesStacks">;

export function runsPage({ contracts }: DashboardTerms, { page }: Screens): Route {
  const show = async (visit: DashboardVisit): Promise<Shown> => {
    const { client, query, root, seesStacks } = visit;
    const asked = new Asked(query);
    const cursor = query.get("cursor") ?? undefined;
    const form = filterForm(asked, contracts);
    try {
      const found = await findRuns(client, asked, contracts, cursor);
      return {
        title: "Runs",
        content: html`<h1>Runs</h1>${form}<section id="runs" data-live>${list(found, asked, { from: cursor, root, seesStacks })}</section>`,
        news: found.runs.map(({ runId, status, records, customStatus }) => [
          runId,
          status,
          records,
          textOf(customStatus, seesStacks),
        ]),
      };
    } catch (error) {
      if (!(error instanceof LayoverError) || !isOfTheFilter(error)) throw error;
      const { message, hint } = error;
      return { title: "Runs", content: html`<h1>Runs</h1>${errorBox(message, hint)}${form}`, status: 400 };
    }
  };
  return page("", show, true);
}

function isOfTheFilter({ code }: LayoverError): boolean {
  return ["invalid_request", "invalid_name", "invalid_cursor"].includes(code);
}

function list(
  { runs, count, cursor, lookedBackTo }: FoundRuns,
  asked: Asked,
  { from, ...seen }: { readonly from: string | undefined } & Seen,
): Html {
  const counted = count === undefined ? "" : `${count} ${count === "1" ? "run" : "runs"}`;
  return html`<p class="count"><strong>${counted}</strong>${asked.isFiltered ? " of this filter" : ""}${
    lookedBackTo === undefined ? "" : html`. This page has looked at runs back to ${time(lookedBackTo)}`
  }</p>
${runs.length === 0 ? html`<p class="none">${nothing(asked, cursor)}</p>` : html`<ul class="runs">${runs.map((run) => runRow(run, seen))}</ul>`}
<nav class="pager" aria-label="Pages of the list">
${from === undefined ? "" : html`<a class="button" href="${asked.link({})}">Newest</a>`}
${cursor === undefined ? "" : html`<a class="button" href="${asked.link({ cursor })}">${lookedBackTo === undefined ? "Older" : "Look further back"}</a>`}
</nav>`;
}

function nothing(asked: Asked, cursor: string | undefined): string {
  if (cursor !== undefined) return "None of these runs fits. Older ones may.";
  return asked.isFiltered ? "There is no such run." : "There is no run yet. Start one on the page Workflows.";
}

function runRow(run: RunView, { root, seesStacks }: Seen): Html {
  const { runId, workflow, version, id, status, createdAt } = run;
  return html`<li><a href="${root}runs/${runId}"><span class="workflow">${workflow}@${version}</span> <span class="id">${id ?? `…${runId.slice(-12)}`}</span></a>
${statusBadge(status)} <span class="age">${age(createdAt)}</span> <span class="remark">${remark(run, seesStacks)}</span></li>`;
}
