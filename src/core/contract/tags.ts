/** The tags of a run: names with a value each, to find the run by. */
import { LayoverError } from "../errors.ts";
import { checkName } from "../names.ts";

const mostTags = 50;

/** @throws LayoverError `invalid_name`, `invalid_request` */
export function checkTags(tags: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const entries = Object.entries(tags);
  if (entries.length > mostTags) {
    throw new LayoverError("invalid_request", `there are ${entries.length} tags, where ${mostTags} are allowed`, {
      hint: "Keep as tags what you search by, and put the rest into the input.",
      details: { field: "tags", limit: mostTags, size: entries.length },
    });
  }
  for (const [name, value] of entries) {
    checkName(name, "the tag");
    checkName(value, `the value of tag ${JSON.stringify(name)}`);
  }
  return tags;
}
