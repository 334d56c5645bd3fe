/** Values and errors as the pages show them, as text. */
import { html } from "hono/html";
import type { RunStatus, RunView } from "../../client/run-view.ts";
import { Unreadable } from "../../client/unreadable.ts";
import type { ErrorValue } from "../../core/codec/error-value.ts";
import { type Json, toJson } from "../plain-json.ts";
import { hideInErrors } from "../stacks.ts";
import type { Html } from "./screens.ts";
import { age } from "./times.ts";

/** How much of a value a page shows among others. */
const shownSigns = 4_000;
const shownCauses = 5;

/**
 * A value as JSON. `seesStacks`: whether the caller may see stacks, which name files of the server. `whole`: the address at
 * which all of the value is to be seen. Left out: all of it is shown here.
 */
export function valueBox(value: unknown, seesStacks: boolean, whole?: string): Html {
  if (value === undefined) return html`<p class="quiet">nothing</p>`;
  if (value instanceof Unreadable) return html`<p class="wrong">It cannot be shown: ${value.reason}</p>`;
  const text = JSON.stringify(shownJson(value, seesStacks), null, 2);
  if (whole === undefined || text.length <= shownSigns) return pre(text);
  return html`${pre(`${text.slice(0, shownSigns)}…`)}<p><a href="${whole}">Show all ${text.length.toLocaleString("en")} characters</a></p>`;
}

function shownJson(value: unknown, seesStacks: boolean): Json {
  if (!seesStacks) hideInErrors(value);
  return toJson(value) ?? null;
}

function pre(text: string): Html {
  return html`<pre tabindex="0">${text}</pre>`;
}

/** An error with its causes. `seesStacks` as above. */
export function errorValueBox(error: ErrorValue | undefined, seesStacks: boolean, depth = 0): Html {
  if (error === undefined) return html`<p class="quiet">No reason was stored.</p>`;
  const { name, message, stack, data, cause, code } = error;
  return html`<div class="fault"><p><strong>${name}</strong>${message === "" ? "" : `: ${message}`}${
    code === undefined ? "" : html` <code>${code}</code>`
  }</p>
${data === undefined ? "" : pre(JSON.stringify(shownJson(data, seesStacks), null, 2).slice(0, shownSigns))}
${stack === undefined || !seesStacks ? "" : html`<details><summary>Stack</summary>${pre(stack)}</details>`}
${cause === undefined || depth >= shownCauses ? "" : html`<p class="quiet">because of</p>${errorValueBox(cause, seesStacks, depth + 1)}`}</div>`;
}

/** An error on one line, with the causes that it does not name itself. */
export function errorLine({ name, message, cause }: ErrorValue, depth = 0): string {
  const said = message === "" ? name : `${name}: ${message}`;
  if (cause === undefined || depth >= shownCauses || said.includes(cause.message)) return said;
  return `${said}, because ${errorLine(cause, depth + 1)}`;
}

/** What a value says in a few words. */
export function briefly(value: unknown, seesStacks: boolean, most = 80): string {
  return cut(textOf(value, seesStacks), most);
}

/** A value on one line: a text as it is, and anything else as JSON. */
export function textOf(value: unknown, seesStacks: boolean): string {
  if (value === undefined) return "";
  if (typeof value === "string") return value;
  return value instanceof Unreadable ? "(cannot be shown)" : JSON.stringify(shownJson(value, seesStacks));
}

/** "1 record", "3 records" */
export function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

export function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

const moods: Readonly<Record<RunStatus, string>> = {
  queued: "busy",
  running: "busy",
  sleeping: "calm",
  waiting: "calm",
  retrying: "warn",
  paused: "warn",
  blocked: "bad",
  cancelling: "warn",
  compensating: "warn",
  completed: "good",
  failed: "bad",
  cancelled: "over",
};

export function statusBadge(status: RunStatus): Html {
  return html`<span class="badge ${moods[status] ?? "over"}">${status}</span>`;
}

/** What is known of a run without its history, in a few words. */
export function remark(run: RunView, seesStacks: boolean): Html | string {
  const { status, blocked, error, readyAt, customStatus, setback, undos } = run;
  if (status === "blocked") return cut(blocked ?? "", 160);
  if (error !== undefined) return cut(errorLine(error), 160);
  if (status === "paused" && run.isHeld) return "with its workflow";
  if (setback !== undefined) return html`${cut(setback.reason, 100)}, tried again ${age(setback.until)}`;
  if (undos !== undefined) return `${undos.done} of ${counted(undos.owed, "undo")} ended`;
  const said = briefly(customStatus, seesStacks);
  const isTimed = ["sleeping", "waiting", "retrying"].includes(status) && readyAt !== undefined;
  return html`${said}${said !== "" && isTimed ? ", " : ""}${isTimed ? html`until ${age(readyAt)}` : ""}`;
}
