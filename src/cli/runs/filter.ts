/** The options by which commands choose runs. */
import { type Command, Option } from "commander";
import type { RunFilter } from "../../client/filter.ts";
import type { HttpClient } from "../../client/over-http/http-client.ts";
import type { RunStatus } from "../../client/run-view.ts";
import { instantIn, tagIn, wholeNumberIn } from "./arguments.ts";
import { findRunId } from "./server.ts";

export interface FilterOptions extends Omit<RunFilter, "tags"> {
  readonly tag?: Readonly<Record<string, string>> | undefined;
}

export function withFilter(command: Command, statuses: readonly RunStatus[]): Command {
  command
    .option("--workflow <name>", "of this workflow")
    .option("--version <number>", "of this version of the workflow", wholeNumberIn);
  return withChoice(command, statuses).option(
    "--parent <run>",
    "started by this run: layover's id or a part of it, or WORKFLOW/ID with your own id",
  );
}

/** The same for a command that says otherwise of which workflow and version they are. */
export function withChoice(command: Command, statuses: readonly RunStatus[]): Command {
  return command
    .addOption(new Option("--status <status>", "in this state").choices(statuses))
    .option("--tag <name:value>", "with this tag; any number of times: with all of them", tagIn)
    .option("--created-from <time>", "created at this time or later", instantIn)
    .option("--created-before <time>", "created before this time", instantIn);
}

export function withEnded(command: Command): Command {
  return command
    .option("--ended-from <time>", "ended at this time or later", instantIn)
    .option("--ended-before <time>", "ended before this time", instantIn);
}

/** Makes the filter that was asked for. A parent may be named as any run is. */
export async function filterOf(
  client: HttpClient,
  { tag: tags, parent, ...filter }: FilterOptions,
): Promise<RunFilter> {
  return { ...filter, tags, parent: parent === undefined ? undefined : await findRunId(client, parent) };
}
