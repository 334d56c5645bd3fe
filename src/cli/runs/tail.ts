/** `layover tail`: what happens from now on, in one run or in all that fit. */
import { Command } from "commander";
import { runStatuses } from "../../client/run-view.ts";
import { placeName } from "../../core/replay/demand.ts";
import { plain, print, printJsonLine } from "../screen.ts";
import { clockTime } from "../times.ts";
import { durationIn, wholeNumberIn } from "./arguments.ts";
import { type FilterOptions, filterOf, withFilter } from "./filter.ts";
import { type FollowTerms, followUntilInterrupt, type Look } from "./follow.ts";
import { ChangedRuns, OneRun, type RunNews } from "./news.ts";
import { findRunId, withServer } from "./server.ts";
import { describeError, describeSaying, describeValue } from "./values.ts";

export interface FollowOptions {
  readonly every: number;
  readonly quietFor: number;
}

interface Options extends FilterOptions, FollowOptions {
  readonly last: number;
  readonly json?: true;
}

/** How many of the newest runs that fit are looked at. */
const mostRuns = 200;

export function withFollowing(command: Command): Command {
  return command
    .option("--every <duration>", "how often it looks while there is news", durationIn, 2_000)
    .option("--quiet-for <duration>", "ends after so long without news", durationIn, 300_000);
}

export const tail = withFollowing(withFilter(new Command("tail"), runStatuses))
  .summary("follows what happens in a run, or in runs")
  .description(
    "Tells what happens from now on: of one run its records, failed attempts, operations and statuses, until it is over; of runs which one comes or changes, among the newest 200 that fit. It asks again and again, so the database does not sleep meanwhile.",
  )
  .argument("[run]", "the run: layover's id or a part of it, or WORKFLOW/ID with your own id. Default: all that fit")
  .option("--last <number>", "of one run: begin with so many of its last records", wholeNumberIn, 10)
  .option("--json", "one line of JSON for each event")
  .addHelpText("after", "\nExamples:\n  layover tail order/o1\n  layover tail --workflow order --json")
  .action(async (run: string | undefined, { every, quietFor, last, json, ...chosen }: Options) => {
    const tell = (news: readonly RunNews[]) => {
      for (const each of news) {
        if (json) printJsonLine(each);
        else print(lineOf(each));
      }
    };
    const terms: FollowTerms = { everyMs: every, quietMs: quietFor };
    await withServer(async ({ client }) => {
      if (run !== undefined) {
        const one = new OneRun(client, await findRunId(client, run), last);
        return await followUntilInterrupt(async (): Promise<Look> => {
          const { news, isOver } = await one.look();
          tell(news);
          return isOver ? "over" : news.length > 0 ? "news" : "none";
        }, terms);
      }
      const filter = await filterOf(client, chosen);
      const changed = new ChangedRuns();
      changed.of((await client.list({ ...filter, limit: mostRuns })).runs); // what is there is not new
      return await followUntilInterrupt(async (): Promise<Look> => {
        const news = changed.of((await client.list({ ...filter, limit: mostRuns })).runs);
        tell(news);
        return news.length > 0 ? "news" : "none";
      }, terms);
    });
  });

const valueWidth = 80;

export function lineOf(news: RunNews): string {
  const { event, runId } = news;
  switch (event) {
    case "run": {
      const { workflow, version, id, status, was, records, error, customStatus } = news;
      const name = `${plain(workflow)}@${version} ${id === undefined ? runId : plain(id)}`;
      const change = was === undefined || was === status ? status : `${was} → ${status}`;
      const said = error === undefined ? describeSaying(customStatus) : describeError(error);
      return joined(clockTime(new Date()), name, change, `${records} records`, said);
    }
    case "record": {
      const { recordedAt, kind, isFailure, value } = news;
      return joined(
        clockTime(recordedAt),
        `${isFailure ? "✗" : "✓"} ${kind} ${plain(placeName(news))}`,
        describeValue(value, valueWidth),
      );
    }
    case "attempt":
      return joined(
        clockTime(news.endedAt),
        `✗ attempt ${news.number} of ${plain(placeName(news))}`,
        describeError(news.error),
      );
    case "operation": {
      const { at, verb, by, reason, verdict } = news;
      const who = by === undefined ? "" : `by ${plain(by)}`;
      return joined(clockTime(at), `● ${verb}: ${verdict}`, who, reason === undefined ? "" : plain(reason));
    }
  }
}

function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("  ");
}
