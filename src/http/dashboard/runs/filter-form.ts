/** The filter of the list of runs: read from the address, so that a link shows the same list, and a form that writes it. */
import { html, raw } from "hono/html";
import type { RunFilter } from "../../../client/filter.ts";
import { runStatuses } from "../../../client/run-view.ts";
import type { Contracts } from "../../contracts.ts";
import { filterIn } from "../../filter.ts";
import type { Html } from "../screens.ts";

/** The fields of the address, with their names in the API. All of them have an index, or are bounded by the list's walk. */
const fields = new Map([
  ["status", "status"],
  ["workflow", "workflow"],
  ["version", "version"],
  ["tag", "tag"],
  ["from", "createdFrom"],
  ["before", "createdBefore"],
]);

/** What is asked for, as the address has it. */
export class Asked {
  readonly #query: URLSearchParams;

  constructor(query: URLSearchParams) {
    this.#query = query;
  }

  of(field: string): string {
    return this.#query.get(field)?.trim() ?? "";
  }

  /** @throws LayoverError `invalid_request`, naming the field of the API */
  filter(): RunFilter {
    const given = [...fields].flatMap(([field, name]) => {
      const texts = field === "tag" ? this.of(field).split(/\s*,\s*/) : [this.of(field)];
      return texts.filter((text) => text !== "").map((text): [string, string] => [name, instantIn(name, text)]);
    });
    return filterIn(new URLSearchParams(given));
  }

  get isFiltered(): boolean {
    return ["id", ...fields.keys()].some((field) => this.of(field) !== "");
  }

  /** The same list, with other fields. */
  link(changed: Readonly<Record<string, string>>): string {
    const query = new URLSearchParams(
      [...fields.keys(), "id"]
        .map((field) => [field, changed[field] ?? this.of(field)])
        .filter(([, text]) => text !== ""),
    );
    if (changed["cursor"] !== undefined) query.set("cursor", changed["cursor"]);
    return `?${query}`;
  }
}

/** Browsers send the time of an input without a zone. The form asks for UTC. */
function instantIn(name: string, text: string): string {
  if (!name.startsWith("created")) return text;
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return `${text}T00:00:00Z`;
  return /^\d{4}-\d\d-\d\dT[\d:.]+$/.test(text) ? `${text}Z` : text;
}

export function filterForm(asked: Asked, contracts: Contracts): Html {
  const names = [...new Set(contracts.all().map(({ name }) => name))];
  const text = (field: string, label: string, marks: string) =>
    html`<div class="field"><label for="filter-${field}">${label}</label>
<input id="filter-${field}" name="${field}" value="${asked.of(field)}" autocomplete="off" ${raw(marks)}></div>`;
  return html`<form class="filter" role="search" aria-label="Filter the runs">
<div class="fields">
<div class="field"><label for="filter-status">Status</label>
<select id="filter-status" name="status">
<option value="">any</option>
${runStatuses.map((status) => html`<option${raw(status === asked.of("status") ? " selected" : "")}>${status}</option>`)}
</select></div>
${text("workflow", "Workflow", 'list="filter-workflows"')}
<datalist id="filter-workflows">${names.map((name) => html`<option>${name}</option>`)}</datalist>
${text("id", "Id", 'placeholder="yours, or layover’s"')}
</div>
<details${raw(["version", "tag", "from", "before"].some((field) => asked.of(field) !== "") ? " open" : "")}><summary>More</summary>
<div class="fields">
${text("version", "Version", 'inputmode="numeric" placeholder="of a workflow"')}
${text("tag", "Tags", 'placeholder="name:value, name:value"')}
${text("from", "Created from (UTC)", 'type="datetime-local" step="1"')}
${text("before", "Created before (UTC)", 'type="datetime-local" step="1"')}
</div></details>
<div class="buttons"><button class="primary">Show</button>${asked.isFiltered ? html`<a class="button" href="?">Clear</a>` : ""}</div>
</form>`;
}
