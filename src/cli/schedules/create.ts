/** `layover schedules create`: makes a schedule that no code declares. */
import { Command } from "commander";
import { unsealed } from "../../client/over-http/sealed-view.ts";
import type { ScheduleCreated } from "../../client/schedules.ts";
import { durationIn, tagIn, wholeNumberIn } from "../runs/arguments.ts";
import { jsonArgument } from "../runs/json-argument.ts";
import { withServer } from "../runs/server.ts";
import { plain, print, printJson } from "../screen.ts";
import { moment } from "../times.ts";

interface Options {
  readonly cron?: string;
  readonly timezone?: string;
  readonly every?: number;
  readonly startAt?: string;
  readonly at?: string;
  readonly input?: string;
  readonly version?: number;
  readonly jitter?: number;
  readonly overlap?: string;
  readonly catchUp?: string;
  readonly tag?: Readonly<Record<string, string>>;
  readonly replace?: true;
  readonly json?: true;
}

const done = { created: "is made", exists: "was there already", changed: "is changed" };

export const create = new Command("create")
  .summary("makes a schedule")
  .description("Makes a schedule at run time. The same again changes nothing.")
  .argument("<name>", "its name")
  .argument("<workflow>", "the workflow whose runs it starts")
  .option("--cron <pattern>", "five fields: minute, hour, day, month, weekday")
  .option("--timezone <name>", "in which the pattern is read: Europe/Berlin. Default: UTC")
  .option("--every <duration>", "between two firings: 2h", durationIn)
  .option("--start-at <instant>", "the first firing of --every: 2026-11-20T10:00:00Z")
  .option("--at <instant>", "the only firing: 2026-11-20T10:00:00Z")
  .option("--input <json>", "of each run: as it stands, or @FILE, or - for stdin")
  .option("--version <number>", "of the workflow; the newest, if left out", wholeNumberIn)
  .option("--jitter <duration>", "puts each firing off by some whole minutes, up to this", durationIn)
  .option("--overlap <skip|allow>", "what happens while a run of it is not over. Default: skip")
  .option("--catch-up <latest|all|none>", "what happens with firings that were missed. Default: latest")
  .option("--tag <name:value>", "of each run; any number of times", tagIn)
  .option("--replace", "changes a schedule of that name that was made at run time")
  .option("--json", "answer as JSON")
  .addHelpText(
    "after",
    `
Example:
  layover schedules create digest-c1 digest --cron '0 8 * * 1' --timezone Asia/Tokyo --input '{"customer": "c1"}'`,
  )
  .action(async (name: string, workflow: string, { json, tag: tags, replace: replaces, ...given }: Options) => {
    const input = given.input === undefined ? undefined : await jsonArgument(given.input, "--input");
    const body = { ...given, name, workflow, input, tags, replaces };
    const created = await withServer(
      // It trusts the shape of the answer: it is what http/schedules.ts gives.
      async ({ api }) => unsealed(await api.post("/v1/schedules", body)) as ScheduleCreated,
    );
    if (json) return printJson(created);
    const { outcome, schedule } = created;
    const next =
      schedule.firesAt === undefined ? "It never fires." : `It fires ${moment(schedule.firesAt, new Date())}.`;
    print(`The schedule ${plain(schedule.name)} ${done[outcome]}. ${next}`);
  });
