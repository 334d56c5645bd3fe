/** `layover delete`: deletes a run that is over. It asks first. */
import { Command } from "commander";
import { confirm } from "../confirm.ts";
import { plain, print, printJson } from "../screen.ts";
import { findRun, withRun, withServer } from "./server.ts";
import { userName } from "./user-name.ts";

interface Options {
  readonly reason?: string | undefined;
  readonly by?: string | undefined;
  readonly yes?: true;
  readonly json?: true;
}

export const remove = new Command("delete")
  .summary("deletes a run that is over")
  .description(
    "Deletes a run that is over, and all that is kept of it: input, result, history, signals, callbacks and tags. Nobody can take that back. Who asked, when and why is kept with the run's id, as long as the run would have been kept.",
  )
  .argument("<run>", "the run: layover's id or a part of it, or WORKFLOW/ID with your own id")
  .option("--reason <text>", "why; it is kept with the run's id")
  .option("--by <name>", "who asks; it is kept with the run's id. Default: your name on this machine")
  .option("--yes", "do not ask")
  .option("--json", "answer as JSON")
  .addHelpText("after", `\nExample:\n  layover delete order/o1 --reason "the customer asked for it"`)
  .action(async (run: string, { reason, by = userName(), yes, json }: Options) => {
    const receipt = await withServer(({ client }) =>
      withRun(client, run, async (named) => {
        if (yes && "runId" in named) return await client.delete(named.runId, { reason, by }); // it may be deleted already
        const { runId, workflow, version, status } = await findRun(client, named);
        const name = `${plain(runId)} of ${plain(workflow)}@${version}`;
        const what = `The run ${name} is ${status}. It would be deleted, with all that is kept of it.`;
        if (!yes) await confirm(what, `delete ${plain(runId)}`);
        return await client.delete(runId, { reason, by });
      }),
    );
    if (json) printJson(receipt);
    else print("Deleted. Nothing of the run is left.");
  });
