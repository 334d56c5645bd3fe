/** `layover prune`: deletes runs that have been over for long enough, now and by a filter. The tick does so by itself, later. */
import { Command } from "commander";
import { isOver, runStatuses } from "../../client/run-view.ts";
import { UsageError } from "../usage-error.ts";
import { durationIn } from "./arguments.ts";
import { type Many, operateMany, withMany } from "./many.ts";
import { userName } from "./user-name.ts";

interface Options extends Many {
  readonly olderThan?: number;
  readonly json?: true;
}

export const prune = withMany(new Command("prune"), runStatuses.filter(isOver))
  .summary("deletes runs that have been over for long enough")
  .description(
    "Deletes the runs that have been over for so long and fit, with all that is kept of them. It says how many and asks first. The deployment deletes runs by itself after its keepMs (30 days) and keepFailedMs (90 days); this is for what should go earlier.",
  )
  .requiredOption("--older-than <duration>", "over for so long: 30 days, 12h", durationIn)
  .option("--json", "answer as JSON")
  .addHelpText(
    "after",
    "\nExample:\n  layover prune --older-than '7 days' --workflow order --status completed --dry-run",
  )
  .action(async ({ olderThan, json, ...many }: Options) => {
    if (olderThan === undefined || olderThan <= 0) {
      throw new UsageError("--older-than is no time at all.", { hint: "Write --older-than '30 days'." });
    }
    const endedBefore = new Date(Date.now() - olderThan);
    await operateMany(
      {
        verb: "prune",
        done: "deleted",
        json,
        by: userName(),
        reason: undefined,
        act: (client, filter, options) => client.deleteRuns({ ...filter, endedBefore }, options),
      },
      many,
    );
  });
