/** `layover runs`: a page of runs, newest first. */
import { Command, Option } from "commander";
import { type RunStatus, type RunView, runStatuses } from "../client/run-view.ts";
import { tagIn, wholeNumberIn } from "./arguments.ts";
import { withDeployment } from "./deployment.ts";
import { type Cell, plain, print, printJson, table } from "./screen.ts";
import { clockTime, fromNow, lasting } from "./times.ts";
import { coloured, describeError } from "./values.ts";

interface Options {
  readonly workflow?: string;
  readonly status?: RunStatus;
  readonly tag?: Readonly<Record<string, string>>;
  readonly limit: number;
  readonly cursor?: string;
  readonly json?: true;
}

export const runs = new Command("runs")
  .summary("lists runs")
  .description("Lists runs, newest first.")
  .option("--workflow <name>", "of this workflow")
  .addOption(new Option("--status <status>", "in this state").choices(runStatuses))
  .option("--tag <name:value>", "with this tag; any number of times: with all of them", tagIn)
  .option("--limit <number>", "how many, up to 200", wholeNumberIn, 20)
  .option("--cursor <cursor>", "of the page before")
  .option("--json", "answer as JSON")
  .addHelpText("after", "\nExample:\n  layover runs --status blocked")
  .action(async ({ json, tag: tags, ...filter }: Options) => {
    const page = await withDeployment(({ client }) => client.list({ ...filter, tags }));
    if (json) return printJson(page);
    if (page.runs.length === 0) return print("There is no such run.");
    const now = new Date();
    print(
      table(
        columns,
        page.runs.map((run) => rowOf(run, now)),
      ),
    );
    if (page.cursor !== undefined) print(`\nThere are more: --cursor ${plain(page.cursor)}`);
  });

const columns = [
  { title: "RUN", isWhole: true },
  { title: "WORKFLOW" },
  { title: "ID" },
  { title: "STATUS", isWhole: true },
  { title: "AGE", isWhole: true },
  { title: "" },
];

function rowOf(run: RunView, now: Date): (string | Cell)[] {
  const { runId, workflow, version, id, status, createdAt } = run;
  return [
    runId,
    `${workflow}@${version}`,
    id ?? "",
    { text: status, style: (text) => coloured(status, text) },
    lasting(now.getTime() - createdAt.getTime()),
    remark(run, now),
  ];
}

/** What is known of it without its history. */
function remark({ status, blocked, error, readyAt, customStatus }: RunView, now: Date): string {
  if (status === "blocked") return blocked ?? "";
  if (status === "failed" || status === "cancelled") return describeError(error);
  const isTimed = readyAt !== undefined && readyAt > now && ["sleeping", "waiting", "retrying"].includes(status);
  const until = !isTimed ? "" : status === "waiting" ? `until ${clockTime(readyAt)}` : fromNow(readyAt, now);
  return [customStatus ?? "", until].filter((part) => part !== "").join(", ");
}
