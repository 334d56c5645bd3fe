/** The buttons of a run: those that its state and the caller's scopes allow. What they send is answered in ../acts/. */
import { html, raw } from "hono/html";
import { v7 } from "uuid";
import type { HistoryView } from "../../../client/history-view.ts";
import { isOver, type RunView } from "../../../client/run-view.ts";
import type { Contract } from "../../../core/contract/contract.ts";
import { placeName } from "../../../core/replay/demand.ts";
import type { Scope } from "../../api-key.ts";
import type { DashboardTerms } from "../mount.ts";
import { payloadInputs } from "../payload.ts";
import type { DashboardVisit, Html } from "../screens.ts";

export function actsOf(
  run: RunView,
  history: HistoryView,
  { caller, root }: Pick<DashboardVisit, "caller" | "root">,
  { contracts }: Pick<DashboardTerms, "contracts">,
): Html | string {
  const may = (scope: Scope) => caller.scopes.includes(scope);
  const contract = contracts.find(run.workflow, run.version);
  const forms = new Forms(run, `${root}runs/${run.runId}/`);
  const acts = [
    ...(may("callbacks") ? callbacks(run, history, contract, forms) : []),
    ...(may("signal") ? signals(run, contract, forms) : []),
    ...(may("admin") ? operations(run, forms) : []),
    ...(may("admin") && run.epoch === history.epoch ? repairs(run, history, contract, forms) : []),
  ];
  return acts.length === 0 ? "" : html`<div class="acts">${acts}</div>`;
}

/** Makes the forms of one run. Each has an id of its own for what it sends, so that what is sent twice happens once. */
class Forms {
  readonly #run: RunView;
  readonly #root: string;

  constructor(run: RunView, root: string) {
    this.#run = run;
    this.#root = root;
  }

  /** `key` tells the forms of the page apart. */
  of(act: string, summary: string, inside: Html, { key = act, isDangerous = false } = {}): Html {
    return html`<details id="act-${key}"${raw(isDangerous ? ' class="danger"' : "")}><summary>${summary}</summary>
<form data-act="${act}" action="${this.#root}${act}" method="post">
<input type="hidden" name="call" value="${v7()}"><input type="hidden" name="epoch" value="${this.#run.epoch}">
${inside}
</form></details>`;
  }

  withReason(act: string, summary: string, what: string, isDangerous = false): Html {
    return this.of(
      act,
      summary,
      html`<p>${what}</p>${textField(`${act}-reason`, "reason", "Why")}<button class="${isDangerous ? "danger" : "primary"}">${summary}</button>`,
      { isDangerous },
    );
  }
}

function textField(id: string, name: string, label: string, note?: string): Html {
  const described = note === undefined ? "" : html` aria-describedby="${id}-note"`;
  return html`<div class="field"><label for="${id}">${label} <span class="quiet">(optional)</span></label>
${note === undefined ? "" : html`<p class="note" id="${id}-note">${note}</p>`}<input id="${id}" name="${name}" autocomplete="off" maxlength="2000"${described}></div>`;
}

function callbacks(
  run: RunView,
  { pending }: HistoryView,
  contract: Contract | undefined,
  forms: Forms,
): readonly Html[] {
  if (isOver(run.status)) return [];
  return pending
    .filter(({ kind }) => kind === "callback")
    .flatMap((row) => {
      const place = placeName(row);
      const name = row.path.split("/").at(-1) ?? "";
      const schema = contract && Object.hasOwn(contract.callbacks, name) ? contract.callbacks[name] : undefined;
      const named = html`<input type="hidden" name="name" value="${place}">`;
      const answer =
        schema === undefined
          ? []
          : [
              forms.of(
                "resolve",
                `Answer ${place}`,
                html`${named}${payloadInputs(schema, { place: `resolve-${place}-`, label: "The answer", send: "Send the answer" })}`,
                { key: `resolve-${place}` },
              ),
            ];
      const reason = textField(`reject-${place}-reason`, "reason", "Why");
      const reject = html`${named}<p>The wait throws an error.</p>${reason}<button class="danger">Reject</button>`;
      return [...answer, forms.of("reject", `Reject ${place}`, reject, { key: `reject-${place}`, isDangerous: true })];
    });
}

function signals(run: RunView, contract: Contract | undefined, forms: Forms): readonly Html[] {
  if (isOver(run.status)) return [];
  const open = Object.entries(contract?.signals ?? {}).filter(([name]) => !run.closed.includes(name));
  return open.map(([name, schema]) =>
    forms.of(
      "signal",
      `Signal ${name}`,
      html`<input type="hidden" name="name" value="${name}">${payloadInputs(schema, { place: `signal-${name}-`, label: "The payload", send: "Send the signal" })}`,
      { key: `signal-${name}` },
    ),
  );
}

function operations({ status, pausedAt }: RunView, forms: Forms): readonly Html[] {
  if (isOver(status)) {
    return [
      forms.withReason("delete", "Delete", "The run is deleted with all that it did. Nothing brings it back.", true),
    ];
  }
  const pause =
    pausedAt === undefined
      ? forms.withReason(
          "pause",
          "Pause",
          "Nothing new begins until it is resumed. What is under way is finished and recorded.",
        )
      : forms.withReason("resume", "Resume", "It goes on. What came meanwhile counts.");
  return [
    pause,
    forms.withReason("cancel", "Cancel", "It begins nothing new, cleans up, undoes what it did, and ends.", true),
    forms.withReason("terminate", "Terminate", "It ends at once. Nothing cleans up, and nothing is undone.", true),
  ];
}

function repairs(
  run: RunView,
  { records }: HistoryView,
  contract: Contract | undefined,
  forms: Forms,
): readonly Html[] {
  const places = [
    ...new Set(
      records.filter(({ kind }) => !["close", "closing", "cancellation", "ending"].includes(kind)).map(placeName),
    ),
  ];
  const from = (act: string) => html`<div class="field"><label for="${act}-from">From</label>
<select id="${act}-from" name="from"><option value="">its start</option>${places.map((place) => html`<option>${place}</option>`)}</select></div>`;
  const input = (act: string) =>
    contract?.input === undefined
      ? ""
      : html`<div class="field"><label for="${act}-input">Another input, as JSON <span class="quiet">(optional, from its start only)</span></label>
<textarea class="json" id="${act}-input" name="input" spellcheck="false" autocomplete="off">${raw("\n")}</textarea></div>`;
  const retry = forms.withReason("retry", "Retry", "It goes on where it failed, with what it has done.");
  const restart = forms.of(
    "restart",
    "Restart",
    html`<p>It begins again from the place that you choose. What comes after it is carried out again.</p>${from("restart")}${input("restart")}${textField("restart-reason", "reason", "Why")}
<div class="buttons"><button class="primary">Restart</button><button name="dryRun" value="true">Only tell what it would drop</button></div>`,
  );
  const fork = forms.of(
    "fork",
    "Fork",
    html`<p>A new run begins as a copy of this one. This one stays as it is.</p>${from("fork")}${input("fork")}${textField("fork-id", "id", "Your id of the new run")}<button class="primary">Fork</button>`,
  );
  return [...(run.status === "failed" ? [retry] : []), restart, fork];
}
