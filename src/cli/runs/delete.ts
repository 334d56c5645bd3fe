/** `layover delete`: deletes a run that is over. It asks first. */
import { Command } from "commander";
import { isOver, runStatuses } from "../../client/run-view.ts";
import { confirm } from "../confirm.ts";
import { plain, print, printAside, printJson } from "../screen.ts";
import { UsageError } from "../usage-error.ts";
import { type Many, manyOf, operateMany, withMany } from "./many.ts";
import { findRun, withRun, withServer } from "./server.ts";
import { userName } from "./user-name.ts";

interface Options extends Many {
  readonly cancel?: true | undefined;
  readonly reason?: string | undefined;
  readonly by?: string | undefined;
  readonly json?: true | undefined;
}

const command = new Command("delete")
  .summary("deletes a run that is over")
  .description(
    "Deletes a run that is over, and all that is kept of it: input, result, history, signals, callbacks and tags. Nobody can take that back. Who asked, when and why is kept with the run's id, as long as the run would have been kept. With options such as --tag instead of a run: all runs that fit and are over; the others are refused, or cancelled with --cancel. It says how many and asks first.",
  )
  .argument("[run]", "the run: layover's id or a part of it, or WORKFLOW/ID with your own id")
  .option("--reason <text>", "why; it is kept with the run's id")
  .option("--by <name>", "who asks; it is kept with the run's id. Default: your name on this machine")
  .option("--cancel", "cancel the runs that fit and are not over; the same command again deletes them then");

export const remove = withMany(command, runStatuses.filter(isOver), { isOfEnded: true })
  .option("--json", "answer as JSON")
  .addHelpText(
    "after",
    `\nExamples:\n  layover delete order/o1 --reason "the customer asked for it"\n  layover delete --tag customer:42 --cancel`,
  )
  .action(async (run: string | undefined, { reason, by = userName(), cancel, json, ...options }: Options) => {
    const many = manyOf("delete", run, options);
    if (many !== undefined) return await removeMany(many, { reason, by, cancel, json });
    const { yes } = options;
    const receipt = await withServer(({ client }) =>
      withRun(client, run ?? "", async (named) => {
        if (yes && "runId" in named) return await client.delete(named.runId, { reason, by }); // it may be deleted already
        const { runId, workflow, version, status } = await findRun(client, named);
        const name = `${plain(runId)} of ${plain(workflow)}@${version}`;
        if (!yes) {
          if (!isOver(status)) {
            throw new UsageError(`The run ${name} is ${status}, and only a run that is over can be deleted.`, {
              hint: "Cancel or terminate it first.",
            });
          }
          const what = `The run ${name} is ${status}. It would be deleted, with all that is kept of it.`;
          await confirm(what, `delete ${plain(runId)}`);
        }
        return await client.delete(runId, { reason, by });
      }),
    );
    if (json) printJson(receipt);
    else print("Deleted. Nothing of the run is left.");
  });

async function removeMany(
  many: Many,
  { cancel, ...asked }: Pick<Options, "reason" | "by" | "cancel" | "json">,
): Promise<void> {
  const receipt = await operateMany(
    {
      ...asked,
      verb: "delete",
      done: cancel ? "deleted, and those that are not over cancelled" : "deleted, if they are over",
      json: asked.json,
      act: (client, filter, options) => client.deleteRuns(filter, { ...options, cancels: cancel }),
    },
    many,
  );
  if (receipt === undefined || many.dryRun) return;
  if ((receipt.outcomes.cancelling ?? 0) > 0) {
    printAside(
      `To delete those that are cancelling, once they are over: the same command with --call ${receipt.callId}`,
    );
  }
  if ((receipt.outcomes.deleted ?? 0) > 0 && many.tag !== undefined) printAside(whatStays);
}

const whatStays =
  "What may still hold the person's data: runs that these have started without the tag, runs that waited for them, the input of schedules, deliveries that were refused or waited for a run (for a week; why, for a month), reasons that people gave for a deletion or a workflow's pause, logs, and backups.";
