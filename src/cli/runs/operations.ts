/** `layover pause`, `layover resume`, `layover cancel`, `layover terminate`: what a person does to one run. */
import { userInfo } from "node:os";
import { Command } from "commander";
import type { OperationReceipt } from "../../client/operations.ts";
import type { HttpClient } from "../../client/over-http/http-client.ts";
import { print, printJson } from "../screen.ts";
import { findRun, withRun, withServer } from "./server.ts";

interface Options {
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
  return new Command(verb)
    .summary(summary)
    .description(description)
    .argument("<run>", "the run: layover's id or a part of it, or WORKFLOW/ID with your own id")
    .option("--reason <text>", "why; it is kept with the run")
    .option("--by <name>", "who asks; it is kept with the run. Default: your name on this machine")
    .option("--json", "answer as JSON")
    .addHelpText("after", `\nExample:\n  ${example}`)
    .action(async (run: string, { reason, by = userName(), json }: Options) => {
      const receipt = await withServer(({ client }) => operate(client, run, verb, { reason, by }));
      if (json) printJson(receipt);
      else print(done[receipt.outcome] ?? receipt.outcome);
    });
}

async function operate(client: HttpClient, run: string, verb: Words["verb"], options: Options) {
  return await withRun(client, run, async (named) => {
    const { runId } = "runId" in named ? named : await findRun(client, named);
    return await client[verb](runId, options);
  });
}

/** Undefined: this machine has no name for its user, as in some containers. */
function userName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}
