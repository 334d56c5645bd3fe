/** The inputs of the form in HTML: one for each field, with what is wrong beside it. */
import { html, raw } from "hono/html";
import { type FieldErrors, type Filled, inputName } from "./callback-form.ts";
import { type Field, numberIn } from "./callback-form-fields.ts";

type Html = ReturnType<typeof html>;

export interface FilledForm {
  readonly filled: Filled;
  readonly errors: FieldErrors;
  /** Begins the ids of its inputs, where a page has several forms. */
  readonly place?: string;
  /** What its one button says. Left out: a yes or no may be two buttons. */
  readonly send?: string;
}

/**
 * Makes the inputs and the buttons that send them. A yes or no becomes two buttons if it is the only field or the last
 * one. Enter in a text presses the first button, and that could be "Yes". So the first button does nothing.
 */
export function inputsOf(fields: readonly Field[], form: FilledForm): Html {
  const questions = fields.filter(({ kind }) => kind === "boolean");
  const { send = "Send the answer" } = form;
  const isAsked = form.send === undefined && questions.length === 1 && questions[0]?.isRequired === true;
  const asked = isAsked ? questions[0] : undefined;
  const others = fields.filter((field) => field !== asked);
  return html`<button disabled hidden></button>
    ${others.map((field) => inputOf(field, form))}
    ${
      asked === undefined
        ? html`<button class="primary">${send}</button>`
        : group(
            asked,
            form,
            html`<div class="buttons">
              <button class="primary" name="${inputName(asked)}" value="true">Yes</button>
              <button name="${inputName(asked)}" value="false">No</button>
            </div>`,
          )
    }`;
}

function inputOf(field: Field, form: FilledForm): Html {
  const { kind, choices, isRequired } = field;
  const name = inputName(field);
  if (kind !== "boolean" && kind !== "choice") return single(field, form);
  const options = kind === "boolean" ? ["true", "false"] : choices.map((_, index) => String(index));
  const text = textOf(field, form.filled);
  const radios = options.map((value, index) => {
    const shown = kind === "boolean" ? (value === "true" ? "Yes" : "No") : String(choices[index]);
    const marks = raw(`${isRequired ? " required" : ""}${value === text ? " checked" : ""}`);
    return html`<label class="option"><input type="radio" name="${name}" value="${value}"${marks}> ${shown}</label>`;
  });
  return group(field, form, html`${radios}`);
}

/** Groups several inputs that answer one question. */
function group(field: Field, form: FilledForm, inputs: Html): Html {
  const error = form.errors.get(inputName(field));
  return html`<fieldset${describedBy(field, form, error)}><legend>${field.label}${optional(field)}</legend>
    ${notes(field, form, error)}${inputs}</fieldset>`;
}

function single(field: Field, form: FilledForm): Html {
  const { kind, shape, label, isRequired } = field;
  const name = inputName(field);
  const error = form.errors.get(name);
  const marks = html`id="${idOf(field, form)}" name="${name}" autocomplete="off"${raw(isRequired && kind !== "text" ? " required" : "")}${raw(
    error === undefined ? "" : ' aria-invalid="true"',
  )}${describedBy(field, form, error)}`;
  const text = textOf(field, form.filled);
  const isLong = kind === "json" || (kind === "text" && (numberIn(shape, "maxLength") ?? 0) > 200);
  // A browser drops the first line break in a textarea.
  const input = isLong
    ? html`<textarea ${marks}${raw(kind === "json" ? ' class="json" spellcheck="false"' : "")}>${raw("\n")}${text}</textarea>`
    : html`<input ${marks} ${typeOf(field)} value="${text}">`;
  const unit = kind === "json" ? ", as JSON" : kind === "date-time" ? " (UTC)" : "";
  return html`<div class="field"><label for="${idOf(field, form)}">${label}${unit}${optional(field)}</label>${notes(field, form, error)}${input}</div>`;
}

function typeOf({ kind, shape }: Field): Html {
  switch (kind) {
    case "number": {
      const [least, most] = [numberIn(shape, "minimum"), numberIn(shape, "maximum")];
      const bounds = html`${least === undefined ? "" : html` min="${least}"`}${most === undefined ? "" : html` max="${most}"`}`;
      return html`type="number" step="${shape["type"] === "integer" ? "1" : "any"}"${bounds}`;
    }
    case "date":
      return html`type="date"`;
    case "date-time":
      return html`type="datetime-local"`;
    default:
      return html`type="${shape["format"] === "email" ? "email" : "text"}"`;
  }
}

function optional({ isRequired }: Field): Html | string {
  return isRequired ? "" : html` <span class="quiet">(optional)</span>`;
}

function idOf(field: Field, { place = "" }: FilledForm): string {
  return `${place}${inputName(field)}`;
}

function notes(field: Field, form: FilledForm, error: string | undefined): Html {
  const name = idOf(field, form);
  const { description } = field;
  return html`${description === undefined ? "" : html`<p class="note" id="${name}-note">${description}</p>`}${
    error === undefined ? "" : html`<p class="wrong" id="${name}-error">${error}</p>`
  }`;
}

function describedBy(field: Field, form: FilledForm, error: string | undefined): Html | string {
  const name = idOf(field, form);
  const ids = [field.description && `${name}-note`, error && `${name}-error`].filter(Boolean).join(" ");
  return ids === "" ? "" : html` aria-describedby="${ids}"`;
}

/** The text of the field: what was filled in before, else the schema's default. */
function textOf(field: Field, filled: Filled): string {
  const before = filled.get(inputName(field))?.[0];
  const initial = field.shape["default"];
  if (before !== undefined || initial === undefined) return before ?? "";
  if (field.kind === "choice") return String(field.choices.indexOf(initial));
  return field.kind === "json" ? JSON.stringify(initial) : String(initial);
}
