/** Counts the statements of quiet minutes (see main.ts), in a process and a temporary folder that are gone afterwards. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { flagsIn, oneOf, refuse } from "../demo/flags.ts";
import { onLeave } from "../demo/leaving-nothing.ts";
import { paint, Screen } from "../demo/screen.ts";
import { keepQuiet } from "./quiet.ts";
import type { Site, SiteOptions } from "./site.ts";
import { StatementLog } from "./statement-log.ts";

const sites: Readonly<
  Record<"aws" | "cloudflare" | "fetch" | "mixed" | "node", (options: SiteOptions) => Promise<Site>>
> = {
  aws: async (options) => await (await import("./on-aws.ts")).openAws(options),
  cloudflare: async (options) => await (await import("./on-cloudflare.ts")).openCloudflare(options),
  fetch: async (options) => await (await import("./on-fetch.ts")).openFetch(options),
  mixed: async (options) => await (await import("./on-mixed.ts")).openMixed(options),
  node: async (options) => await (await import("./on-node.ts")).openNode(options),
};

const flags = flagsIn({ on: "cloudflare", minutes: "10" });
const on = oneOf(["cloudflare", "node", "aws", "fetch", "mixed"], flags.on, "--on");
const minutes = Number(flags.minutes);
if (!Number.isInteger(minutes) || minutes < 1)
  refuse(`--minutes takes a whole number from 1, not ${JSON.stringify(flags.minutes)}.`);

const period = minutes === 1 ? "a minute" : `${minutes} minutes`;

onLeave(() => process.exit(130));

const screen = new Screen();
screen.plain(paint("bold", `layover idle on ${on}: ${period} in which nobody asks the database`));
screen.act("Runs that wait");
screen.say("do", "postgres -c log_statement=all, layover migrate, and a deployment");
const log = new StatementLog(join(tmpdir(), "log"));
const site = await sites[on]({ folder: tmpdir(), settings: log.settings });
let found: number;
try {
  await log.connect(site.databaseUrl);
  found = await keepQuiet({ site, log, screen, minutes, each: 100 });
} finally {
  await log.end();
  await site.end();
}
const verdict = found === 0 ? paint("green", "✓") : paint("red", "✗");
screen.plain(`\n${verdict} ${found === 1 ? "1 statement" : `${found} statements`} in ${period}`);
process.exit(found === 0 ? 0 : 1);
