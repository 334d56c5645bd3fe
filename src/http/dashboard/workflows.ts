/** The workflows that this deployment carries, each with a form to start it. */
import { html, raw } from "hono/html";
import { v7 } from "uuid";
import type { Contract } from "../../core/contract/contract.ts";
import type { Route } from "../route.ts";
import type { DashboardTerms } from "./mount.ts";
import { payloadInputs } from "./payload.ts";
import type { DashboardVisit, Html, Screens, Shown } from "./screens.ts";

export function workflowPages({ contracts }: DashboardTerms, { page }: Screens): readonly Route[] {
  return [
    page("workflows", async ({ client, caller, root }) => {
      // What the page shows is in the code. So the database is asked nothing but whether the key counts still.
      if (caller.keyId !== undefined) await client.within(({ calls }) => calls.checkKey());
      return workflowList(contracts.all(), root);
    }),
    page("workflows/:name", async (visit) => {
      const { client, caller, param, query } = visit;
      if (caller.keyId !== undefined) await client.within(({ calls }) => calls.checkKey());
      const version = query.get("version");
      const name = param("name");
      const contract = version === null ? contracts.newest(name) : contracts.exactly(name, Number(version));
      return workflowPage(
        contract,
        contracts.all().filter((each) => each.name === name),
        visit,
      );
    }),
  ];
}

function workflowList(contracts: readonly Contract[], root: string): Shown {
  const byName = Map.groupBy(contracts, ({ name }) => name);
  const items = [...byName].map(([name, versions]) => {
    const numbers = versions.map(({ version }) => version).join(", ");
    return html`<li><a href="${root}workflows/${encodeURIComponent(name)}"><span class="workflow">${name}</span></a>
<span class="age">version ${numbers}</span> <span></span> <span class="remark"><a href="${root}?${new URLSearchParams({ workflow: name })}">Its runs</a></span></li>`;
  });
  return { title: "Workflows", content: html`<h1>Workflows</h1><ul class="runs">${items}</ul>` };
}

function workflowPage(contract: Contract, versions: readonly Contract[], { caller, root }: DashboardVisit): Shown {
  const { name, version, signals, callbacks } = contract;
  const action = `${root}workflows/${encodeURIComponent(name)}`;
  const names = (of: Readonly<Record<string, unknown>>) => Object.keys(of).join(", ") || "none";
  return {
    title: `Workflow ${name}`,
    content: html`<h1>${name}@${version}</h1>
${versions.length < 2 ? "" : html`<p>Versions: ${versions.map((each) => html`<a href="?version=${each.version}"${raw(each === contract ? ' aria-current="true"' : "")}>${each.version}</a> `)}</p>`}
<dl class="facts"><dt>Signals</dt><dd>${names(signals)}</dd><dt>Callbacks</dt><dd>${names(callbacks)}</dd>
<dt>Runs</dt><dd><a href="${root}?${new URLSearchParams({ workflow: name })}">Look at its runs</a></dd></dl>
${caller.scopes.includes("start") ? startForm(contract, action) : html`<p class="quiet">To start a run, sign in with a key that has the scope start.</p>`}
${caller.scopes.includes("admin") ? html`<h2>All of its runs</h2><div class="acts">${pauseForm("pause", "Pause the workflow", "New runs are held, and those that are not over are paused, up to 500 of them.", action)}${pauseForm("resume", "Resume the workflow", "New runs begin again, and what the pause held goes on.", action)}</div>` : ""}`,
  };
}

function startForm({ version, input }: Contract, action: string): Html {
  const text = (id: string, label: string, note: string) =>
    html`<div class="field"><label for="start-${id}">${label} <span class="quiet">(optional)</span></label>
<p class="note" id="start-${id}-note">${note}</p><input id="start-${id}" name="${id}" autocomplete="off" aria-describedby="start-${id}-note"></div>`;
  return html`<h2>Start a run</h2><form class="panel" data-act="start" action="${action}/start" method="post">
<input type="hidden" name="call" value="${v7()}"><input type="hidden" name="version" value="${version}">
${text("id", "Your id", "Unique among the runs of the workflow. With the same id and input twice, the run is started once.")}
<details><summary>More</summary>${text("tags", "Tags", "As in customer:c1, region:eu")}${text("delay", "Delay", "As in 30s, 2h or 3 days")}</details>
${payloadInputs(input, { place: "start-", label: "Input", send: "Start" })}
</form>`;
}

function pauseForm(act: string, summary: string, what: string, action: string): Html {
  return html`<details id="act-${act}"><summary>${summary}</summary><form data-act="${act}" data-shows action="${action}/${act}" method="post">
<input type="hidden" name="call" value="${v7()}"><p>${what}</p>
<div class="field"><label for="${act}-reason">Why <span class="quiet">(optional)</span></label><input id="${act}-reason" name="reason" autocomplete="off" maxlength="2000"></div>
<button class="primary">${summary}</button></form></details>`;
}
