/** `layover schedules`: looks at schedules, and pauses, resumes, triggers, adopts and deletes them. */
import { Command } from "commander";
import { calendarText, troublesOf } from "../../client/schedule-text.ts";
import type { ScheduleView } from "../../client/schedules.ts";
import { wholeNumberIn } from "../runs/arguments.ts";
import { withServer } from "../runs/server.ts";
import { userName } from "../runs/user-name.ts";
import { type Cell, plain, print, printJson, table } from "../screen.ts";
import { fromNow, moment } from "../times.ts";
import { create } from "./create.ts";

interface ListOptions {
  readonly workflow?: string;
  readonly limit: number;
  readonly cursor?: string;
  readonly json?: true;
}

const list = new Command("list")
  .summary("lists schedules")
  .description("Lists schedules by name: when each fires next, and what is wrong with it.")
  .option("--workflow <name>", "only those that start this workflow")
  .option("--limit <number>", "how many, up to 500", wholeNumberIn, 100)
  .option("--cursor <cursor>", "of the page before")
  .option("--json", "answer as JSON")
  .addHelpText("after", "\nExample:\n  layover schedules list --workflow report")
  .action(async ({ json, ...options }: ListOptions) => {
    const page = await withServer(({ client }) => client.schedules.list(options));
    if (json) return printJson(page);
    const { schedules, cursor } = page;
    if (schedules.length === 0) return print("There is no such schedule.");
    const now = new Date();
    print(
      table(
        [
          { title: "NAME", isWhole: true },
          { title: "WORKFLOW" },
          { title: "CALENDAR" },
          { title: "NEXT", isWhole: true },
          { title: "" },
        ],
        schedules.map((schedule) => rowOf(schedule, now)),
      ),
    );
    if (cursor !== undefined) print(`\nTo see more: --cursor ${plain(cursor)}`);
  });

function rowOf(schedule: ScheduleView, now: Date): (string | Cell)[] {
  const { name, workflow, version, firesAt, paused } = schedule;
  const next = paused !== undefined ? "paused" : firesAt === undefined ? "never" : fromNow(firesAt, now);
  return [name, `${workflow} ${version}`, calendarText(schedule.definition), next, troublesOf(schedule).join("; ")];
}

const show = new Command("show")
  .summary("shows a schedule")
  .description("Shows a schedule: when it fires, what it has started, and what it has left out.")
  .argument("<name>", "its name")
  .option("--json", "answer as JSON")
  .addHelpText("after", "\nExample:\n  layover schedules show nightly")
  .action(async (name: string, { json }: { readonly json?: true }) => {
    const schedule = await withServer(({ client }) => client.schedules.get(name));
    if (json) return printJson(schedule);
    const now = new Date();
    const { workflow, version, definition, owner, nextAt, firesAt, lastAt, lastRunId, fired, skipped } = schedule;
    print(`${plain(schedule.name)} starts ${plain(workflow)} (version ${version}): ${plain(calendarText(definition))}`);
    print(owner === undefined ? "It was made at run time." : `The code of ${plain(owner)} declares it.`);
    for (const other of schedule.alsoDeclaredBy ?? []) print(`The code of ${plain(other)} declares the same.`);
    print(
      `Next: ${firesAt === undefined || nextAt === undefined ? "never" : `${moment(firesAt, now)}, for ${nextAt.toISOString()}`}`,
    );
    print(
      `Last: ${lastAt === undefined ? "never" : lastAt.toISOString()}${lastRunId === undefined ? "" : `, run ${lastRunId}`}`,
    );
    print(`It has started ${fired} runs, and left out ${skipped} firings.`);
    for (const trouble of troublesOf(schedule)) print(plain(trouble));
  });

interface ChangeOptions {
  readonly json?: true;
}

interface Reasons {
  readonly reason?: string;
  readonly by?: string;
}

interface Change<Options> {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly more?: (command: Command) => Command;
  /** Does it, and answers what is printed. */
  readonly act: (name: string, options: Options) => Promise<readonly [text: string, json: unknown]>;
}

function change<Options extends ChangeOptions>({
  name: verb,
  summary,
  description,
  more = (it) => it,
  act,
}: Change<Options>): Command {
  const command = new Command(verb)
    .summary(summary)
    .description(description)
    .argument("<name>", "the name of the schedule");
  return more(command)
    .option("--json", "answer as JSON")
    .action(async (name: string, options: Options) => {
      const [text, answer] = await act(name, options);
      if (options.json) printJson(answer);
      else print(plain(text));
    });
}

/** The options of a verb that keeps who asked, and why. */
const withReasons = (command: Command) =>
  command.option("--reason <text>", "why").option("--by <name>", "who asks. Default: your name on this machine");

const reasonsIn = ({ reason, by = userName() }: Reasons) => ({ reason, by });

const pause = change<ChangeOptions & Reasons>({
  name: "pause",
  summary: "stops a schedule for a while",
  description: "Pauses a schedule: it fires no more until it is resumed, also after a deploy.",
  more: withReasons,
  act: async (name, options) => {
    const schedule = await withServer(({ client }) => client.schedules.pause(name, reasonsIn(options)));
    return [`The schedule ${name} is paused.`, schedule];
  },
});

const resume = change({
  name: "resume",
  summary: "lets a paused schedule go on",
  description: "Lets a paused schedule go on. What it has missed is made up for as its catchUp says.",
  act: async (name) => {
    const schedule = await withServer(({ client }) => client.schedules.resume(name));
    return [`The schedule ${name} goes on.`, schedule];
  },
});

const trigger = change<ChangeOptions & Reasons & { readonly ignoreOverlap?: true }>({
  name: "trigger",
  summary: "starts a run of a schedule now",
  description: "Starts a run of a schedule now, beside its calendar, and writes its id to stdout.",
  more: (command) => withReasons(command.option("--ignore-overlap", "also while a run of it is not over")),
  act: async (name, { ignoreOverlap, ...options }) => {
    const given = { ...reasonsIn(options), ignoresOverlap: ignoreOverlap };
    const triggered = await withServer(({ client }) => client.schedules.trigger(name, given));
    return [triggered.runId, triggered];
  },
});

const remove = change({
  name: "delete",
  summary: "deletes a schedule",
  description: "Deletes a schedule that no code of a live deployment declares. Its runs go on.",
  act: async (name) => {
    await withServer(({ client }) => client.schedules.delete(name));
    return [`The schedule ${name} is deleted.`, { outcome: "deleted", name }];
  },
});

const adopt = change<ChangeOptions & { readonly owner: string }>({
  name: "adopt",
  summary: "gives a schedule to another deployment",
  description:
    "Gives a schedule to another deployment whose code declares it, the same or something else. That is its definition then.",
  more: (command) => command.requiredOption("--owner <deployment>", "the name of that deployment"),
  act: async (name, { owner }) => {
    const schedule = await withServer(({ client }) => client.schedules.adopt(name, { owner }));
    return [`The schedule ${name} belongs to ${owner} now.`, schedule];
  },
});

export const schedules = new Command("schedules")
  .summary("looks at schedules, and makes and changes them")
  .description("Looks at schedules, those that code declares and those that are made at run time, and changes them.")
  .addCommand(list)
  .addCommand(show)
  .addCommand(create)
  .addCommand(pause)
  .addCommand(resume)
  .addCommand(trigger)
  .addCommand(remove)
  .addCommand(adopt);
