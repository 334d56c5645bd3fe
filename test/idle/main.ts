/**
 * `npm run idle`: nobody asks a database while every run waits. Starts some hundred runs that wait, on real processes and
 * by the clock on the wall, then counts what the server's own log has of the quiet minutes. Prints the log, and how late a
 * run that is due afterwards wakes; exits with 1 if there was a statement.
 *
 *   --on HOST     cloudflare (the default): a Worker on workerd, its cron trigger rung each minute as Cloudflare would
 *                 node: a server, whose timers are its alarms
 *                 aws: the functions of a stack, woken by schedules that fire late
 *                 fetch: a host that answers requests, and its alarm on workerd, which alone wakes it
 *                 mixed: that Worker, those functions and such a server, all on one database
 *   --minutes M   how many are quiet (10). Getting there takes three more
 */
import { join } from "node:path";
import { runLeavingNothing } from "../demo/leaving-nothing.ts";
import { tellUsage } from "../usage.ts";

tellUsage(import.meta.url);
await runLeavingNothing(join(import.meta.dirname, "count.ts"));
