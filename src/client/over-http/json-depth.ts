/** How deep a JSON text is, before anything recurses into it. */
import { LayoverError } from "../../core/errors.ts";

/** How many objects a body puts around a value, as in `{ "input": … }`, at most. */
const around = 2;

/** @throws LayoverError `too_deep` */
export function checkDepth(json: string, what: string, limit: number): void {
  let depth = 0;
  for (let index = 0; index < json.length; index += 1) {
    const sign = json[index];
    if (sign === '"') index = endOfText(json, index);
    else if (sign === "]" || sign === "}") depth -= 1;
    else if ((sign === "[" || sign === "{") && ++depth > limit + around) {
      throw new LayoverError("too_deep", `${what} is nested more than ${limit} levels deep`, {
        hint: "Send a flatter value: a list of items that name their parents, for example.",
        details: { limit },
      });
    }
  }
}

/** Finds the end of a text. A regular expression would read the rest again from each quote if the text never ends. */
function endOfText(json: string, start: number): number {
  let index = start + 1;
  while (index < json.length && json[index] !== '"') index += json[index] === "\\" ? 2 : 1;
  return index;
}
