/** `layover signal`: sends a run a signal. */
import { Command } from "commander";
import { v7 } from "uuid";
import { pathOf } from "../../client/over-http/api.ts";
import { isOver, runStatuses } from "../../client/run-view.ts";
import { type Contract, workflow } from "../../core/contract/contract.ts";
import { plain, print, printJson } from "../screen.ts";
import { UsageError } from "../usage-error.ts";
import { jsonArgument } from "./json-argument.ts";
import { type Many, manyOf, operateMany, withMany } from "./many.ts";
import { type RunName, withRun, withServer } from "./server.ts";

interface Options extends Many {
  readonly payload?: string;
  readonly dedupeId?: string;
  readonly json?: true;
}

const command = new Command("signal")
  .summary("sends a run a signal")
  .description(
    "Sends a run a signal, which it keeps until it takes it. With --workflow instead of a run: all its runs that fit, if they are not over. It says how many and asks first.",
  )
  .argument("[run]", "the run: layover's id or a part of it, or WORKFLOW/ID with your own id")
  .argument("[name]", "of the signal")
  .option("--payload <json>", "as it stands, or @FILE, or - for stdin")
  .option("--dedupe-id <id>", "your own id of the signal to one run: a second one with it is left out");

export const signal = withMany(
  command,
  runStatuses.filter((status) => !isOver(status)),
)
  .option("--json", "answer as JSON")
  .addHelpText(
    "after",
    `\nExamples:\n  layover signal order/o1 address --payload '{"city": "Turin"}'\n  layover signal --workflow order address --payload '{"city": "Turin"}'`,
  )
  .action(async (first: string | undefined, second: string | undefined, options: Options) => {
    const { payload, dedupeId, json, ...chosen } = options;
    const [name, run] = second === undefined ? [first] : [second, first];
    if (name === undefined || (run !== undefined) === (chosen.workflow !== undefined)) throw unclear();
    const many = manyOf("signal", run, chosen);
    const value = payload === undefined ? undefined : await jsonArgument(payload, "--payload");
    if (many !== undefined) return await signalMany(name, value, many, json);
    const body = { payload: value, dedupeId, signalId: v7() };
    const answer = await withServer(({ api, client }) =>
      withRun(client, run ?? "", (named) => api.post(`${pathOfRun(named)}${pathOf("signals", name)}`, body)),
    );
    if (json) printJson(answer);
    else print(isDuplicate(answer) ? `It was sent before, with the dedupe id ${dedupeId}.` : "Sent.");
  });

function unclear(): UsageError {
  return new UsageError("Name the signal, and a run or a workflow.", {
    hint: "Write layover signal order/o1 NAME, or layover signal --workflow order NAME.",
  });
}

async function signalMany(name: string, payload: unknown, many: Many, json: true | undefined): Promise<void> {
  const contract = workflow({ name: many.workflow ?? "", version: 1 }); // the server parses the payload by its own
  await operateMany(
    {
      verb: "signal",
      done: `sent the signal ${plain(name)}`,
      json,
      act: (client, filter, options) => client.signalRuns<Contract, string>(contract, filter, name, payload, options),
    },
    many,
  );
}

function pathOfRun(run: RunName): string {
  return "runId" in run ? pathOf("v1", "runs", run.runId) : pathOf("v1", "workflows", run.workflow, "ids", run.id);
}

function isDuplicate(answer: unknown): boolean {
  return typeof answer === "object" && answer !== null && "outcome" in answer && answer.outcome === "duplicate";
}
