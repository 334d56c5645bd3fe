/** `layover signal`: sends a run a signal. */
import { Command } from "commander";
import { v7 } from "uuid";
import { pathOf } from "../../client/over-http/api.ts";
import { print, printJson } from "../screen.ts";
import { jsonArgument } from "./json-argument.ts";
import { type RunName, withRun, withServer } from "./server.ts";

interface Options {
  readonly payload?: string;
  readonly dedupeId?: string;
  readonly json?: true;
}

export const signal = new Command("signal")
  .summary("sends a run a signal")
  .description("Sends a run a signal, which it keeps until it takes it.")
  .argument("<run>", "the run: layover's id or a part of it, or WORKFLOW/ID with your own id")
  .argument("<name>", "of the signal")
  .option("--payload <json>", "as it stands, or @FILE, or - for stdin")
  .option("--dedupe-id <id>", "your own id of the signal: a second one with it is left out")
  .option("--json", "answer as JSON")
  .addHelpText("after", `\nExample:\n  layover signal order/o1 address --payload '{"city": "Turin"}'`)
  .action(async (run: string, name: string, { payload, dedupeId, json }: Options) => {
    const value = payload === undefined ? undefined : await jsonArgument(payload, "--payload");
    const body = { payload: value, dedupeId, signalId: v7() };
    const answer = await withServer(({ api, client }) =>
      withRun(client, run, (named) => api.post(`${pathOfRun(named)}${pathOf("signals", name)}`, body)),
    );
    if (json) printJson(answer);
    else print(isDuplicate(answer) ? `It was sent before, with the dedupe id ${dedupeId}.` : "Sent.");
  });

function pathOfRun(run: RunName): string {
  return "runId" in run ? pathOf("v1", "runs", run.runId) : pathOf("v1", "workflows", run.workflow, "ids", run.id);
}

function isDuplicate(answer: unknown): boolean {
  return typeof answer === "object" && answer !== null && "outcome" in answer && answer.outcome === "duplicate";
}
