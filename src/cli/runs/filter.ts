/** The options by which commands choose runs. */
import { type Command, Option } from "commander";
import type { RunFilter } from "../../client/filter.ts";
import type { RunStatus } from "../../client/run-view.ts";
import { instantIn, tagIn, wholeNumberIn } from "./arguments.ts";

export interface FilterOptions extends Omit<RunFilter, "tags"> {
  readonly tag?: Readonly<Record<string, string>>;
}

export function withFilter(command: Command, statuses: readonly RunStatus[]): Command {
  return command
    .option("--workflow <name>", "of this workflow")
    .option("--version <number>", "of this version of the workflow", wholeNumberIn)
    .addOption(new Option("--status <status>", "in this state").choices(statuses))
    .option("--tag <name:value>", "with this tag; any number of times: with all of them", tagIn)
    .option("--parent <id>", "started by the run with this id of layover")
    .option("--created-from <time>", "created at this time or later", instantIn)
    .option("--created-before <time>", "created before this time", instantIn);
}

/** Makes the filter that was asked for. */
export function filterOf({ tag: tags, ...filter }: FilterOptions): RunFilter {
  return { ...filter, tags };
}
