/** `layover callback`: the link that answers a callback of a run, what became of it, and the answer itself. */
import { Command } from "commander";
import { pathOf } from "../../client/over-http/api.ts";
import { isRecord } from "../../core/codec/tag-checks.ts";
import { plain, print, printAside, printJson } from "../screen.ts";
import { clockTime } from "../times.ts";
import { UsageError } from "../usage-error.ts";
import { jsonArgument } from "./json-argument.ts";
import { findRun, type RunName, type Server, withRun, withServer } from "./server.ts";

interface Options {
  readonly resolve?: string;
  readonly reject?: string;
  readonly json?: true;
}

export const callback = new Command("callback")
  .summary("gives the link of a callback, or answers it")
  .description(
    "Writes the link to a callback of a run to stdout. Whoever opens the link may answer it. Once it is answered, says how. With --resolve or --reject, answers it at once. The key needs the scope callbacks.",
  )
  .argument("<run>", "the run: layover's id or a part of it, or WORKFLOW/ID with your own id")
  .argument(
    "<name>",
    "the callback's name; if the run waits for several of that name, the place that layover show tells",
  )
  .option("--resolve <json>", "answer it with this JSON; @FILE reads it from a file, - from stdin")
  .option("--reject <reason>", "reject it, and say why")
  .option("--json", "answer as JSON")
  .addHelpText(
    "after",
    `\nExamples:
  layover callback order/o1 approval
  layover callback order/o1 approval --resolve '{"ok": true}'
  layover callback order/o1 'ship[3]/approval' --reject "too expensive"`,
  )
  .action(async (run: string, name: string, { resolve, reject, json }: Options) => {
    if (resolve !== undefined && reject !== undefined) {
      throw new UsageError("Both --resolve and --reject are given.", { hint: "Give one: the first answer counts." });
    }
    const value = resolve === undefined ? undefined : await jsonArgument(resolve, "--resolve");
    const ask = async ({ api, client }: Server, named: RunName): Promise<unknown> => {
      const { runId } = "runId" in named ? named : await findRun(client, named);
      const path = pathOf("v1", "runs", runId, "callbacks", name);
      if (resolve !== undefined) return await api.post(`${path}/resolve`, value);
      return await (reject === undefined ? api.get(path) : api.post(`${path}/reject`, { message: reject }));
    };
    const answer = await withServer((server) => withRun(server.client, run, (named) => ask(server, named)));
    if (json) printJson(answer);
    else if (resolve !== undefined) print("Resolved.");
    else if (reject !== undefined) print("Rejected.");
    else tell(name, answer);
  });

/** Writes the link alone to stdout, for `URL=$(layover callback …)`. */
function tell(name: string, answer: unknown): void {
  const what = `The callback ${JSON.stringify(plain(name))}`;
  const { status, deadline, url } = isRecord(answer) ? answer : {};
  if (status === "open") {
    const until = deadline instanceof Date ? `, until ${clockTime(deadline)}` : "";
    printAside(`${what} waits for an answer${until}. Whoever has this link may answer it:`);
    print(plain(String(url)));
  } else {
    print(`${what} ${endings.get(status) ?? `is ${plain(String(status))}`}.`);
  }
}

const endings = new Map<unknown, string>([
  ["resolved", "was answered"],
  ["rejected", "was rejected"],
  ["expired", "was not answered in time"],
  ["over", "belongs to a run that is over"],
]);
