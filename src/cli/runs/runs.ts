/** `layover runs`: a page of runs, newest first. */
import { Command } from "commander";
import type { ListOptions, Page } from "../../client/listing.ts";
import type { HttpClient } from "../../client/over-http/http-client.ts";
import { type RunView, runStatuses } from "../../client/run-view.ts";
import {
  type Cell,
  plain,
  print,
  printJson,
  printJsonLine,
  repaint,
  screenHeight,
  screenWidth,
  table,
} from "../screen.ts";
import { clockTime, fromNow, lasting } from "../times.ts";
import { wholeNumberIn } from "./arguments.ts";
import { type FilterOptions, filterOf, withEnded, withFilter } from "./filter.ts";
import { type FollowTerms, followUntilInterrupt } from "./follow.ts";
import { ChangedRuns } from "./news.ts";
import { shortIds } from "./run-ids.ts";
import { withServer } from "./server.ts";
import { type FollowOptions, lineOf, withFollowing } from "./tail.ts";
import { coloured, describeError, describeSaying, describeUndos } from "./values.ts";

interface Options extends FilterOptions, FollowOptions {
  readonly watch?: true;
  readonly limit: number;
  readonly cursor?: string;
  readonly json?: true;
}

export const runs = withFollowing(withEnded(withFilter(new Command("runs"), runStatuses)))
  .summary("lists runs")
  .description(
    "Lists runs, newest first. In a terminal it shows the end of each id, which names a run for the other commands, too.",
  )
  .option("--limit <number>", "how many, up to 200", wholeNumberIn, 20)
  .option("--cursor <cursor>", "of the page before")
  .option("--watch", "shows them again and again, as they change; the database does not sleep meanwhile")
  .option("--json", "answer as JSON; with --watch one line for each run that comes or changes")
  .addHelpText("after", "\nExample:\n  layover runs --status blocked")
  .action(async ({ json, limit, cursor: from, watch, every, quietFor, ...options }: Options) => {
    if (watch) return await watchRuns(options, { limit, cursor: from, json, everyMs: every, quietMs: quietFor });
    const page = await withServer(async ({ client }) =>
      foundPage(client, { ...(await filterOf(client, options)), limit, cursor: from }),
    );
    if (json) return printJson(page);
    const { cursor } = page;
    if (page.runs.length === 0) {
      if (cursor === undefined) return print(nothingFound({ ...options, cursor: from }));
      return print(`None of the newest runs fits. To look at older ones: --cursor ${plain(cursor)}`);
    }
    print(tableOf(page.runs));
    if (cursor !== undefined) print(`\nTo see more: --cursor ${plain(cursor)}`);
  });

function tableOf(runs: readonly RunView[]): string {
  const now = new Date();
  const ids = shownIds(runs.map(({ runId }) => runId));
  return table(
    columns,
    runs.map((run, index) => [ids[index] ?? run.runId, ...rowOf(run, now)]),
  );
}

interface Watched extends FollowTerms {
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly json: true | undefined;
}

/** Writes the table over the one before, in a terminal. A program gets a line for each run that comes or changes. */
async function watchRuns(chosen: FilterOptions, { limit, cursor, json, ...terms }: Watched): Promise<void> {
  const height = screenHeight();
  const shown = height === undefined ? limit : Math.max(1, Math.min(limit, height - 4));
  const changed = new ChangedRuns();
  await withServer(async ({ client }) => {
    const filter = { ...(await filterOf(client, chosen)), limit: shown, cursor };
    await followUntilInterrupt(async () => {
      const { runs: found } = await client.list(filter);
      const news = changed.of(found);
      if (json) for (const each of news) printJsonLine(each);
      else if (height === undefined) for (const each of news) print(lineOf(each));
      else repaint(tableOf(found));
      return news.length > 0 ? "news" : "none";
    }, terms);
  });
}

function nothingFound(asked: object): string {
  const isFiltered = Object.values(asked).some((part) => part !== undefined);
  return isFiltered ? "There is no such run." : "There is no run yet. Start one: layover start WORKFLOW";
}

/**
 * Makes the ids to show. A program reads whole ids. A person reads the same short ids as in the log, and can name the
 * run by one.
 */
function shownIds(runIds: readonly string[]): readonly string[] {
  return screenWidth() === Number.POSITIVE_INFINITY ? runIds : shortIds(runIds);
}

/** How many pages one command asks for at most. For each page the database looks at some 2,000 runs. */
const mostPages = 20;

/** Asks for pages until one has runs: a page may be empty although more pages follow. */
async function foundPage(client: HttpClient, filter: ListOptions): Promise<Page> {
  let page = await client.list(filter);
  for (let pages = 1; pages < mostPages && page.runs.length === 0 && page.cursor !== undefined; pages += 1) {
    page = await client.list({ ...filter, cursor: page.cursor });
  }
  return page;
}

const columns = [
  { title: "RUN", isWhole: true },
  { title: "WORKFLOW" },
  { title: "ID" },
  { title: "STATUS", isWhole: true },
  { title: "AGE", isWhole: true },
  { title: "" },
];

function rowOf(run: RunView, now: Date): (string | Cell)[] {
  const { workflow, version, id, status, createdAt } = run;
  return [
    `${workflow}@${version}`,
    id ?? "",
    { text: status, style: (text) => coloured(status, text) },
    lasting(now.getTime() - createdAt.getTime()),
    remark(run, now),
  ];
}

function failedUndos(undos: RunView["undos"]): string {
  const failed = undos?.failed ?? 0;
  return failed === 0 ? "" : `; ${failed === 1 ? "1 undo" : `${failed} undos`} failed`;
}

/** Says what is known of a run without its history. */
function remark(run: RunView, now: Date): string {
  const { status, blocked, error, readyAt, customStatus, undos } = run;
  if (status === "blocked") return blocked ?? "";
  if (status === "failed" || status === "cancelled") return describeError(error) + failedUndos(undos);
  if (status === "paused" && run.isHeld === true) return "with its workflow";
  if (run.setback !== undefined) return `${run.setback.reason}, tried again ${fromNow(run.setback.until, now)}`;
  if (status === "compensating") return undos === undefined ? "waits for steps or runs at work" : describeUndos(undos);
  const isTimed = readyAt !== undefined && readyAt > now && ["sleeping", "waiting", "retrying"].includes(status);
  const until = !isTimed ? "" : status === "waiting" ? `until ${clockTime(readyAt)}` : fromNow(readyAt, now);
  return [describeSaying(customStatus), until].filter((part) => part !== "").join(", ");
}
