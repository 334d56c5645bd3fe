/** `layover show`: one run, what it did, and what it waits for. */
import { styleText } from "node:util";
import { Command } from "commander";
import { isOver, type RunView } from "../../client/run-view.ts";
import { failedUndosIn } from "../../client/undo-view.ts";
import type { ErrorValue } from "../../core/codec/error-value.ts";
import { cutOff, plain, print, printJson, screenWidth, wrapped } from "../screen.ts";
import { clockTime, lasting, moment } from "../times.ts";
import { wholeNumberIn } from "./arguments.ts";
import { findRun, withRun, withServer } from "./server.ts";
import { timeline } from "./timeline.ts";
import { coloured, describeError, describeSaying, describeUndos, describeValue } from "./values.ts";

interface Options {
  readonly full?: boolean;
  readonly epoch?: number;
  readonly json?: true;
}

const usualRecords = 50;
const mostRecords = 1_000;

export const show = new Command("show")
  .summary("shows a run, what it did, and what it waits for")
  .description(
    "Shows a run: what it did, with every failed attempt, what it does now, and what it waits for until when.",
  )
  .argument("<run>", "the run: layover's id or a part of it, or WORKFLOW/ID with your own id")
  .option(
    "--full",
    `values and errors as they are, stacks where the key has the scope admin, and up to ${mostRecords} records`,
  )
  .option("--epoch <number>", "its history of an earlier epoch", wholeNumberIn)
  .option("--json", "answer as JSON")
  .addHelpText("after", "\nExamples:\n  layover show order/o1\n  layover show 01a1f975-5531-7046-9092-7e7c27daa9ce")
  .action(async (name: string, { full = false, epoch, json }: Options) => {
    const { run, history } = await withServer(async ({ client }) => {
      const run = await withRun(client, name, (named) => findRun(client, named));
      const limit = full ? mostRecords : usualRecords;
      const after = epoch === undefined ? Math.max(0, run.records - limit) : 0;
      const history = await client.history(run.runId, { after, limit, epoch });
      return { run, history };
    });
    if (json) return printJson({ ...run, history });
    const width = full ? Number.POSITIVE_INFINITY : screenWidth();
    const now = new Date();
    print(`${heading(run, { now, width, full })}\n\n${timeline(run, history, { now, width })}`);
  });

interface Terms {
  readonly now: Date;
  readonly width: number;
  readonly full: boolean;
}

function heading(run: RunView, { now, width, full }: Terms): string {
  const { workflow, version, runId, id, status, tags, createdAt, endedAt, timeoutAt, input, result } = run;
  const shownTags = Object.entries(tags).map(([name, value]) => `${name}:${value}`);
  const facts: readonly (readonly [string, string])[] = [
    ["id", id ?? ""],
    ["run", runId],
    ["tags", shownTags.join(", ")],
    ["started", moment(createdAt, now)],
    [
      "ended",
      endedAt === undefined ? "" : `${clockTime(endedAt)}, after ${lasting(endedAt.getTime() - createdAt.getTime())}`,
    ],
    ["times out", timeoutAt === undefined || isOver(status) ? "" : moment(timeoutAt, now)],
    ["undone", run.undos === undefined ? "" : describeUndos(run.undos)],
    ["paused", run.pausedAt === undefined ? "" : moment(run.pausedAt, now)],
    ["says", describeSaying(run.customStatus)],
    ["not taken", Object.entries(mailOf(run)).map(untaken).join(", ")],
    ["input", describeValue(input, width)],
    ["result", describeValue(result, width)],
  ];
  const lines = facts
    .filter(([, text]) => text !== "")
    .map(([name, text]) => `${styleText("dim", name.padEnd(9))}  ${cutOff(plain(text), width - 11)}`);
  const title = `${styleText("bold", plain(`${workflow}@${version}`))} ${coloured(status)}`;
  return [title, ...lines, ...reasons(run, full)].join("\n");
}

/** The signals that the run has not taken. A server of an earlier release does not tell them. */
function mailOf({ untaken = {} }: Partial<Pick<RunView, "untaken">>): RunView["untaken"] {
  return untaken;
}

function untaken([name, count]: readonly [name: string, count: number]): string {
  return `${count === 1 ? "1 signal" : `${count} signals`} ${JSON.stringify(name)}`;
}

/** Makes the lines that say why the run is where it is. They are not cut off, since people come for them. */
function reasons({ status, blocked, setback, error, ...run }: RunView, full: boolean): readonly string[] {
  const told = (name: string, text: string) =>
    `${styleText("red", name.padEnd(9))}  ${wrapped(plain(text), { indent: 11 })}`;
  // A server of an earlier release does not tell of refusals.
  const refusals = (run.refusedBy ?? []).map(({ deployment, at, why }) =>
    told("refused", `by the deployment ${deployment}, at ${clockTime(at)}${why === blocked ? "" : `: ${why}`}`),
  );
  if (status === "blocked") {
    return [
      told("blocked", blocked ?? ""),
      `${" ".repeat(11)}→ Deploy the code that fits this history: the new deployment tries again by itself.`,
      ...refusals,
    ];
  }
  if (setback !== undefined) {
    const { reason, path, since, until } = setback;
    const who = path === undefined ? "" : `${path}: `;
    return [
      ...refusals,
      told("held up", `${who}${reason}`),
      `${" ".repeat(11)}→ tried again at ${clockTime(until)}, held up since ${clockTime(since)}`,
    ];
  }
  if (status === "paused") {
    const command = run.isHeld ? `resume-workflow ${run.workflow}` : `resume ${run.runId}`;
    return [...refusals, `${" ".repeat(11)}→ It goes on by: layover ${command}`];
  }
  if (error === undefined) return refusals;
  const { owed = 0, done = 0, failed = 0 } = run.undos ?? {};
  const lost =
    failed === 0
      ? []
      : failedUndosIn(error).map(({ step, error: why }) =>
          told("undo", `${step} is not undone: ${describeError(why)}`),
        );
  const left = owed - done + failed; // terminated before its undos have ended, or some failed
  return [
    told("error", describeError(error)),
    ...(full ? [stackOf(error)] : []),
    ...lost,
    ...(left === 0
      ? []
      : [
          `${" ".repeat(11)}→ ${status === "failed" ? `By layover retry ${run.runId} they are tried again` : "No undo is tried again"}. Or look below at what is not undone, and undo it by hand.`,
        ]),
  ];
}

function stackOf({ stack, cause }: ErrorValue): string {
  const own = (stack ?? "").split("\n").map((line) => ` ${plain(line)}`);
  return [...own, ...(cause === undefined ? [] : [" caused by", stackOf(cause)])].join("\n");
}
