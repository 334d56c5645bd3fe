/**
 * A value that a person fills in, as its schema describes it: the input of a start, the payload of a signal, the answer to a
 * callback. Where no form can be made of the schema, the value is written as JSON. The fields are those of the callback's own
 * page.
 */
import { html, raw } from "hono/html";
import type { Schema } from "../../core/contract/schema.ts";
import { parseJson } from "../body.ts";
import { answerIn, type FieldErrors } from "../callback-form.ts";
import { fieldsOf } from "../callback-form-fields.ts";
import { inputsOf } from "../callback-form-inputs.ts";
import type { Html } from "./screens.ts";

interface PayloadForm {
  /** Begins the ids of the inputs: it is another one for each form of a page. */
  readonly place: string;
  readonly label: string;
  readonly send: string;
}

/** The inputs of a form, with its button. `schema` undefined: there is nothing to fill in. */
export function payloadInputs(schema: Schema | undefined, { place, label, send }: PayloadForm): Html {
  const button = html`<button class="primary">${send}</button>`;
  if (schema === undefined) return button;
  const fields = fieldsOf(schema);
  if (fields !== undefined) return inputsOf(fields, { filled: new Map(), errors: new Map(), place, send });
  return html`<div class="field"><label for="${place}payload">${label}, as JSON</label>
<textarea class="json" id="${place}payload" name="payload" spellcheck="false" autocomplete="off">${raw("\n")}</textarea></div>${button}`;
}

export type Payload = { readonly value: unknown } | { readonly errors: FieldErrors };

/** Reads what was filled in. `isSensitive`: no error tells anything of it. @throws LayoverError `invalid_json` */
export async function payloadIn(
  texts: ReadonlyMap<string, string>,
  schema: Schema | undefined,
  isSensitive: boolean,
): Promise<Payload> {
  const text = texts.get("payload");
  if (text !== undefined) return { value: text.trim() === "" ? undefined : parseJson(text, "the value") };
  const fields = schema && fieldsOf(schema);
  if (schema === undefined || fields === undefined) return { value: undefined };
  const filled = new Map([...texts].map(([name, each]) => [name, [each]]));
  const { value, errors } = await answerIn(filled, { fields, schema, isSensitive });
  return errors.size > 0 ? { errors } : { value };
}
