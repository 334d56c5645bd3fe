/**
 * `npm run idle`: nobody asks a database while every run waits. Starts some hundred runs that wait, on real processes and
 * by the clock on the wall, then counts what the server's own log has of the quiet minutes. Prints the log, and how late a
 * run that is due afterwards wakes; exits with 1 if there was a statement.
 *
 *   --on HOST     cloudflare (the default): a Worker on workerd, its cron trigger rung each minute as Cloudflare would
 *                 node: a server, whose timers are its alarms
 *   --minutes M   how many are quiet (10). Getting there takes three more
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { flagsIn, oneOf, refuse } from "../demo/flags.ts";
import { paint, Screen } from "../demo/screen.ts";
import { keepQuiet } from "./quiet.ts";
import type { Site, SiteOptions } from "./site.ts";
import { StatementLog } from "./statement-log.ts";

const sites: Readonly<Record<"cloudflare" | "node", (options: SiteOptions) => Promise<Site>>> = {
  cloudflare: async (options) => await (await import("./on-cloudflare.ts")).openCloudflare(options),
  node: async (options) => await (await import("./on-node.ts")).openNode(options),
};

const flags = flagsIn({ on: "cloudflare", minutes: "10" });
const on = oneOf(["cloudflare", "node"], flags.on, "--on");
const minutes = Number(flags.minutes);
if (!Number.isInteger(minutes) || minutes < 1)
  refuse(`--minutes takes a whole number from 1, not ${JSON.stringify(flags.minutes)}.`);

const period = minutes === 1 ? "a minute" : `${minutes} minutes`;

const folder = mkdtempSync(join(tmpdir(), "layover-idle-"));
chmodSync(folder, 0o755); // Postgres may run as somebody else
process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(130));

const screen = new Screen();
screen.plain(paint("bold", `layover idle on ${on}: ${period} in which nobody asks the database`));
screen.act("Runs that wait");
screen.say("do", "postgres -c log_statement=all, layover migrate, and a deployment");
const log = new StatementLog(join(folder, "log"));
const site = await sites[on]({ folder, settings: log.settings });
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
