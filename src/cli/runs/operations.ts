/** `layover pause`, `layover resume`, `layover cancel`, `layover terminate`: what a person does to one run, or to many. */
import { Command } from "commander";
import type { OperationOptions, OperationReceipt } from "../../client/operations.ts";
import type { HttpClient } from "../../client/over-http/http-client.ts";
import { isOver, runStatuses } from "../../client/run-view.ts";
import { print, printJson } from "../screen.ts";
import { type ActOnMany, type Many, manyOf, operateMany, withMany } from "./many.ts";
import { findRunId, withServer } from "./server.ts";
import { userName } from "./user-name.ts";

interface Options extends Many {
  readonly reason?: string | undefined;
  readonly by?: string | undefined;
  readonly json?: true;
}

interface Words {
  readonly verb: "pause" | "resume" | "cancel" | "terminate";
  readonly summary: string;
  readonly description: string;
  readonly example: string;
  readonly done: Partial<Record<OperationReceipt["outcome"], string>>;
}

export const pause = operation({
  verb: "pause",
  summary: "lets nothing new begin in a run",
  description:
    "Pauses a run: nothing new begins until it is resumed. Steps under way are finished and recorded, and signals and answers are kept.",
  example: `layover pause order/o1 --reason "their API is down"`,
  done: { paused: "Paused. Steps that are under way still end." },
});

export const resume = operation({
  verb: "resume",
  summary: "lets a paused run go on",
  description:
    "Lets a paused run go on. What came meanwhile counts. Its timeout moves on by as long as the pause took.",
  example: "layover resume order/o1",
  done: { resumed: "Resumed." },
});

export const cancel = operation({
  verb: "cancel",
  summary: "asks a run to clean up, to undo what it did, and to end",
  description:
    "Asks a run to end, as cancelled: nothing new begins, its handler is told by a CancelledError, its cleanups run, and then its undos. A step under way is told to stop, and what it returns within a minute is recorded.",
  example: `layover cancel order/o1 --reason "ordered twice"`,
  done: {
    cancelling: "It cleans up, undoes what it did, and is cancelled then.",
    cancelled: "Cancelled. It had done nothing yet.",
  },
});

export const terminate = operation({
  verb: "terminate",
  summary: "ends a run at once",
  description:
    "Ends a run at once, as cancelled. Nothing cleans up, and nothing is undone. A step under way is told to stop, and its result is not recorded.",
  example: `layover terminate order/o1 --reason "a test"`,
  done: { terminated: "Terminated. The run is cancelled." },
});

function operation({ verb, summary, description, example, done }: Words): Command {
  const command = new Command(verb)
    .summary(summary)
    .description(
      `${description} With options such as --workflow instead of a run: all runs that fit, if they are not over. It says how many and asks first.`,
    )
    .argument("[run]", "the run: layover's id or a part of it, or WORKFLOW/ID with your own id")
    .option("--reason <text>", "why; it is kept with the run")
    .option("--by <name>", "who asks; it is kept with the run. Default: your name on this machine");
  return withMany(
    command,
    runStatuses.filter((status) => !isOver(status)),
  )
    .option("--json", "answer as JSON")
    .addHelpText("after", `\nExamples:\n  ${example}\n  layover ${verb} --workflow order --tag customer:c1 --dry-run`)
    .action(async (run: string | undefined, { reason, by = userName(), json, ...options }: Options) => {
      const many = manyOf(verb, run, options);
      if (many !== undefined) {
        await operateMany({ ...acts[verb], verb, json, reason, by }, many);
        return;
      }
      const receipt = await withServer(({ client }) => operate(client, run ?? "", verb, { reason, by }));
      if (json) printJson(receipt);
      else print(done[receipt.outcome] ?? receipt.outcome);
    });
}

const acts: Readonly<Record<Words["verb"], Pick<ActOnMany, "act" | "done">>> = {
  pause: { done: "paused", act: (client, filter, options) => client.pauseRuns(filter, options) },
  resume: { done: "resumed", act: (client, filter, options) => client.resumeRuns(filter, options) },
  cancel: { done: "cancelled", act: (client, filter, options) => client.cancelRuns(filter, options) },
  terminate: { done: "terminated", act: (client, filter, options) => client.terminateRuns(filter, options) },
};

async function operate(client: HttpClient, run: string, verb: Words["verb"], options: OperationOptions) {
  return await client[verb](await findRunId(client, run), options);
}
