/** Shortens ids of runs for a terminal, to their ends. The log shows the same ends. */
import type { ListOptions, Page } from "../../client/listing.ts";
import { UsageError } from "../usage-error.ts";

/** A client that can list runs, newest first. */
export interface Lister {
  readonly list: (options: ListOptions) => Promise<Page>;
}

/** How many characters of a run's id are accepted as a part of it. A whole id has 36 with its dashes. */
const shortest = 8;
const longest = 36;
/** How many runs are looked through for a part of an id. */
const pageSize = 200;
const mostPages = 25;

/** Shortens ids to their ends, with as many characters as it takes to tell these ids apart. */
export function shortIds(runIds: readonly string[]): readonly string[] {
  for (let length = shortest; length < longest; length += 1) {
    const ends = runIds.map((runId) => runId.slice(-length));
    if (new Set(ends).size === new Set(runIds).size) return ends;
  }
  return runIds;
}

/** Whether the text may be a part of an id. A whole id is no part. */
export function isPartOfId(text: string): boolean {
  return /^[\da-f-]{4,35}$/i.test(text) && /[\da-f]/i.test(text);
}

/** Finds the id that has this part. A beginning or an end of eight digits or more is taken at once. @throws UsageError */
export async function findByPart(client: Lister, part: string): Promise<string> {
  const wanted = part.toLowerCase();
  const isTelling = wanted.length >= shortest;
  const found: string[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < mostPages; pages += 1) {
    const page = await client.list({ limit: pageSize, cursor });
    found.push(...page.runs.map(({ runId }) => runId).filter((runId) => runId.includes(wanted)));
    cursor = page.cursor;
    if (cursor === undefined || found.length > 1 || (isTelling && found.length === 1)) break;
  }
  const [runId, ...others] = found;
  if (runId === undefined) {
    const which = cursor === undefined ? "No run" : `None of the newest ${pageSize * mostPages} runs`;
    throw new UsageError(`${which} has an id with ${JSON.stringify(part)} in it.`, {
      hint: "layover runs shows which there are. An older run has to be named by its whole id, or as WORKFLOW/ID.",
    });
  }
  if (others.length === 0) return runId;
  throw new UsageError(
    `Several runs have an id with ${JSON.stringify(part)} in it: ${found.slice(0, 3).join(", ")} …`,
    {
      hint: "Give more of its digits.",
    },
  );
}
