/** `layover retry`, `layover restart`, `layover fork`: what repairs one run. */
import { Command } from "commander";
import type { RestartFilter } from "../../client/many.ts";
import type { HttpClient } from "../../client/over-http/http-client.ts";
import { isOver, type RunStatus, runStatuses } from "../../client/run-view.ts";
import { type Contract, workflow } from "../../core/contract/contract.ts";
import { LayoverError } from "../../core/errors.ts";
import { placeName } from "../../core/replay/demand.ts";
import type { CutRecord } from "../../postgres/wire-operations.ts";
import { asSentence } from "../complaint.ts";
import { plain, print, printAside, printJson } from "../screen.ts";
import { UsageError } from "../usage-error.ts";
import { jsonArgument } from "./json-argument.ts";
import { type ActOnMany, type Many, manyOf, operateMany, withMany } from "./many.ts";
import { findRunId, withServer } from "./server.ts";
import { userName } from "./user-name.ts";

const aRun = "the run: layover's id or a part of it, or WORKFLOW/ID with your own id";
const newInput = "another input, only from the start: as it stands, or @FILE, or - for stdin";
const mostShown = 20;

interface Asked extends Many {
  readonly reason?: string | undefined;
  readonly by?: string | undefined;
  readonly json?: true;
}

/** Where a history is cut, and with what input it goes on. */
interface Cut {
  readonly from?: string | undefined;
  readonly input?: string | undefined;
}

/** What a retry is given. */
interface Given {
  readonly result?: readonly string[];
  readonly sensitive?: true;
  readonly signal?: string | undefined;
  readonly payload?: string | undefined;
}

async function correction({ signal: name, payload }: Pick<Given, "signal" | "payload">) {
  if (name === undefined && payload !== undefined)
    throw new UsageError("--payload is that of a signal.", { hint: "Name the signal: --signal NAME" });
  if (name === undefined) return {};
  const value = payload === undefined ? undefined : await jsonArgument(payload, "--payload");
  return { signal: { name, payload: value }, contract: anyContract };
}

/** The error of the client shows how to give a result in TypeScript. */
function sayHowToGiveResults(error: unknown): never {
  if (!(error instanceof LayoverError) || error.code !== "result_needed") throw error;
  throw new UsageError(asSentence(plain(error.message)), {
    hint: `It is done, or may be. Find out what became of it, and give its result: --result 'charge={"id": "ch_1"}'`,
    cause: error,
  });
}

/** The server parses what is given by its own contract. */
const anyContract: Contract = workflow({ name: "any", version: 1 });

async function cutOptions({ from, input }: Cut) {
  if (input === undefined) return { from };
  return { from, input: await jsonArgument(input, "--input"), contract: anyContract };
}

function command(name: string, summary: string, description: string, run = "[run]"): Command {
  return new Command(name).summary(summary).description(description).argument(run, aRun);
}

function asking(made: Command, statuses: readonly RunStatus[]): Command {
  return withMany(made, statuses, { isOfEnded: true })
    .option("--reason <text>", "why; it is kept with the run")
    .option("--by <name>", "who asks; it is kept with the run. Default: your name on this machine")
    .option("--json", "answer as JSON");
}

/** Asks the server about the run that was named. */
async function about<Answer>(
  name: string | undefined,
  ask: (client: HttpClient, runId: string) => Promise<Answer>,
): Promise<Answer> {
  return await withServer(async ({ client }) => ask(client, await findRunId(client, name ?? "")));
}

export const retry = asking(
  command(
    "retry",
    "lets a failed run go on, and keeps what succeeded",
    "Lets a failed run go on: its failures are forgotten, and every success is kept. The steps that failed are carried out again, with their old idempotency keys. Of a run that was undone it repeats the undos that failed. With options such as --workflow instead of a run: all failed runs that fit. It says how many and asks first.",
  )
    .option(
      "--result <place=json>",
      "the result of a step that is done and whose result was lost; may be given several times",
      (text: string, before: readonly string[] = []) => [...before, text],
    )
    .option("--sensitive", "show nobody these results: the steps have sensitive: true")
    .option("--signal <name>", "a signal that the run finds when it goes on")
    .option("--payload <json>", "of the signal: as it stands, or @FILE, or - for stdin"),
  ["failed"],
)
  .addHelpText(
    "after",
    `\nExamples:\n  layover retry order/o1 --reason "their API is back"\n  layover retry order/o1 --result 'charge={"id": "ch_1"}'\n  layover retry order/o1 --signal address --payload '{"city": "Turin"}'`,
  )
  .action(async (name: string | undefined, asked: Asked & Given) => {
    const { result = [], sensitive, signal, payload, reason, by = userName(), json, ...chosen } = asked;
    const many = manyOf("retry", name, chosen);
    if (many !== undefined) {
      if (result.length > 0 || signal !== undefined || payload !== undefined) throw notOfMany("--result and --signal");
      const act: ActOnMany["act"] = (client, filter, options) => client.retryRuns(filter, options);
      await operateMany({ verb: "retry", done: "retried", act, reason, by, json }, many);
      return;
    }
    const results = Object.fromEntries(result.map(readResult));
    const options = { reason, by, results, sensitive, ...(await correction({ signal, payload })) };
    const receipt = await about(name, (client, runId) => client.retry(runId, options)).catch(sayHowToGiveResults);
    if (json) printJson(receipt);
    else print(`It goes on as epoch ${receipt.epoch}. ${records(receipt.kept)} kept, ${receipt.dropped} forgotten.`);
  });

export const restart = asking(
  command(
    "restart",
    "lets a run begin again, from a step or from its start",
    "Lets a run that is over, blocked or paused begin again, from a step or from its start. What came after is dropped, and not undone. Steps that are carried out again have new idempotency keys. With --status instead of a run: all runs that fit. It says how many and asks first.",
  )
    .option("--from <place>", "the step or wait from which it goes on: charge, ship[3]/send#2. Default: from its start")
    .option("--input <json>", newInput),
  runStatuses.filter((status) => isOver(status) || status === "blocked" || status === "paused"),
)
  .addHelpText(
    "after",
    `\nExamples:\n  layover restart order/o1 --from charge --dry-run\n  layover restart order/o1 --from charge --reason "wrong amount"\n  layover restart order/o1 --input '{"amount": 42}'`,
  )
  .action(async (name: string | undefined, asked: Asked & Cut) => {
    const { dryRun, from, input, reason, by = userName(), json, ...chosen } = asked;
    const cut = { from, input };
    const many = manyOf("restart", name, name === undefined ? { ...chosen, dryRun } : chosen);
    if (many !== undefined) {
      if (input !== undefined) throw notOfMany("--input");
      const act: ActOnMany["act"] = (client, { status, ...filter }, options) =>
        client.restartRuns({ ...filter, status: restartable(status) }, { ...options, from });
      await operateMany(
        {
          verb: "restart",
          done: `begun again${from === undefined ? "" : ` from ${plain(from)}`}`,
          act,
          reason,
          by,
          json,
        },
        many,
      );
      return;
    }
    const options = await cutOptions(cut);
    if (dryRun) {
      const plan = await about(name, (client, runId) => client.planRestart(runId, options));
      if (json) return printJson(plan);
      return print(
        [
          `${records(plan.kept)} kept, and ${plan.dropped} dropped:`,
          ...plan.records.slice(0, mostShown).map(line),
          ...more(plan),
          ...(plan.dropped > 0 ? ["What these did is not undone."] : []),
        ].join("\n"),
      );
    }
    const receipt = await about(name, (client, runId) => client.restart(runId, { ...options, reason, by }));
    if (json) printJson(receipt);
    else
      print(`It begins again, as epoch ${receipt.epoch}. ${records(receipt.kept)} kept, ${receipt.dropped} dropped.`);
  });

export const fork = command(
  "fork",
  "starts a new run with a copy of the history of one that is over",
  "Starts a new run with a copy of the history of a run that is over, up to a step. The old run stays as it is. The new run never undoes what it has copied.",
  "<run>",
)
  .option("--from <place>", "the step or wait from which it goes on: charge, ship[3]/send#2. Default: from its start")
  .option("--input <json>", newInput)
  .option("--id <id>", "your own id of the new run")
  .option("--json", "answer as JSON")
  .addHelpText("after", "\nExample:\n  layover fork order/o1 --from charge --id o1-again")
  .action(async (name: string | undefined, { id, json, ...cut }: Cut & { id?: string; json?: true }) => {
    const options = await cutOptions(cut);
    const receipt = await about(name, (client, runId) => client.fork(runId, { ...options, id }));
    if (json) printJson(receipt);
    else {
      printAside(`A copy begins as a run of its own. Look at it: layover show ${receipt.runId}`);
      print(receipt.runId);
    }
  });

function notOfMany(options: string): UsageError {
  return new UsageError(`${options}: for one run alone.`, { hint: "Leave it out, or name one run." });
}

function restartable(status: RunStatus | undefined): RestartFilter["status"] {
  switch (status) {
    case "completed":
    case "failed":
    case "cancelled":
    case "blocked":
    case "paused":
      return status;
    default:
      throw new UsageError("Which runs are to begin again is not clear without their status.", {
        hint: "Say it: --status failed, completed, cancelled, blocked or paused.",
      });
  }
}

function records(count: number): string {
  return count === 1 ? "1 record is" : `${count} records are`;
}

function line({ position, kind, isFailure, ...place }: CutRecord): string {
  const what = plain(`${kind} ${placeName(place)}`);
  return `  ${String(position).padStart(5)}  ${what}${isFailure ? ", which failed" : ""}`;
}

function more({ dropped, records: shown }: { dropped: number; records: readonly CutRecord[] }): readonly string[] {
  const left = dropped - Math.min(mostShown, shown.length);
  return left === 0 ? [] : [`  and ${left} more`];
}

/** Reads `charge={"id": "ch_1"}`. No name of a step holds an equals sign in front of JSON, so the first one ends it. */
function readResult(text: string): readonly [place: string, value: unknown] {
  const [, place, json] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (place !== undefined && json !== undefined) {
    try {
      return [place, JSON.parse(json)];
    } catch {}
  }
  throw new UsageError(`--result ${JSON.stringify(text)} is not a place and its result.`, {
    hint: `Write it as --result 'charge={"id": "ch_1"}'.`,
  });
}
