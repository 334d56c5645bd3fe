/** Checks the question that a callback asks a person. The question stands in the callback's URL, so it is short. */
import { LayoverError } from "../errors.ts";
import { checkName } from "../names.ts";
import { utf8Size } from "../utf8-size.ts";
import type { Question } from "./step.ts";

const mostBytes = 1_000;

/**
 * Checks a question.
 *
 * @throws LayoverError `invalid_name` for a title that is none, `value_too_large` for a text that is too long
 */
export function checkQuestion({ title, text }: Question): Question {
  if (title !== undefined) checkName(title, "the title of a callback");
  const size = utf8Size(text ?? "");
  if (size > mostBytes) {
    throw new LayoverError("value_too_large", `the text of a callback is ${size} bytes long, more than ${mostBytes}`, {
      hint: "Shorten it: the text stands in the callback's URL. Put long texts into the message that you send.",
      details: { field: "text", limit: mostBytes, size },
    });
  }
  return { ...(title !== undefined && { title }), ...(text !== undefined && { text: text.toWellFormed() }) };
}
