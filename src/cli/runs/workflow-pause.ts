/** `layover pause-workflow`, `layover resume-workflow`: holds all runs of a workflow, also those that are started later. */
import { Command } from "commander";
import { print, printJson } from "../screen.ts";
import { wholeNumberIn } from "./arguments.ts";
import { runMany, toldOf } from "./many.ts";
import { withServer } from "./server.ts";
import { userName } from "./user-name.ts";

interface Options {
  readonly reason?: string | undefined;
  readonly by?: string | undefined;
  readonly perSecond?: number | undefined;
  readonly call?: string | undefined;
  readonly json?: true;
}

export const pauseWorkflow = command({
  verb: "pause",
  summary: "holds all runs of a workflow, also new ones",
  description:
    "Pauses all runs of a workflow that are not over, and holds those that are started from now on, until it is resumed. Runs that other runs start are held, too; forks and runs that are retried are not.",
});

export const resumeWorkflow = command({
  verb: "resume",
  summary: "lets the runs of a paused workflow go on",
  description:
    "Lets the runs go on that were paused with their workflow, and those begin that were started meanwhile. A run that somebody has paused by itself stays paused.",
});

function command({
  verb,
  summary,
  description,
}: {
  readonly verb: "pause" | "resume";
  readonly summary: string;
  readonly description: string;
}): Command {
  return new Command(`${verb}-workflow`)
    .summary(summary)
    .description(description)
    .argument("<workflow>", "the name of the workflow")
    .option("--reason <text>", "why; it is kept with the workflow and its runs")
    .option("--by <name>", "who asks; it is kept, too. Default: your name on this machine")
    .option("--per-second <number>", "how many runs a second, up to 10000. Default: 100", wholeNumberIn)
    .option("--call <id>", "go on with the act that told this id")
    .option("--json", "answer as JSON")
    .addHelpText(
      "after",
      `\nExample:\n  layover ${verb}-workflow order${verb === "pause" ? ' --reason "their API is down"' : ""}`,
    )
    .action(async (workflow: string, { reason, by = userName(), perSecond, call, json }: Options) => {
      const receipt = await runMany({ isDry: false }, (terms) =>
        withServer(({ client }) =>
          client[`${verb}Workflow`](workflow, { ...terms, reason, by, perSecond, callId: call }),
        ),
      );
      if (receipt === undefined) return;
      if (json) return printJson(receipt);
      const what = verb === "pause" ? "is paused, and holds new runs" : "is resumed, and new runs begin";
      const told = receipt.runs === 0 ? `It had no run to ${verb}.` : `Of its runs: ${toldOf(receipt)}.`;
      print(`The workflow ${workflow} ${what}. ${told}`);
      if (receipt.mayMissStarts) {
        print(
          `A transaction that started runs stayed open, so they may be left as they were. Once it has ended: the same command with --call ${receipt.callId}`,
        );
      }
    });
}
