/**
 * Runs that wait, and minutes in which nobody is to ask the database: all by the clock on the wall.
 *
 * What the runs' first turns have armed rings once more, up to two minutes after them, and finds nothing: each turn leans
 * on such a minute. The quiet minutes begin after that, half a minute away from every whole one, so that each has one ring
 * of the cron trigger. Half a minute after them one run is due.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Screen } from "../demo/screen.ts";
import type { Site } from "./site.ts";
import { type StatementLog, statementsIn } from "./statement-log.ts";
import { latenessMs, startDueAt, startWaiting } from "./waiting-runs.ts";

const minuteMs = 60_000;
const halfMs = minuteMs / 2;
/** A motion minute is up to two ahead, and rings 2 s after it began. */
const armedMs = 2 * minuteMs + 2_000;
/** ... of a run that starts within this. */
const startingMs = 15_000;

const marks = { from: "the quiet minutes begin", to: "the quiet minutes are over" } as const;

export interface QuietOptions {
  readonly site: Site;
  readonly log: StatementLog;
  readonly screen: Screen;
  readonly minutes: number;
  /** How many runs of each kind wait. */
  readonly each: number;
}

/** Answers how many statements the server has logged in the quiet minutes. */
export async function keepQuiet(options: QuietOptions): Promise<number> {
  const stop = new AbortController();
  try {
    return await Promise.race([play(options), ringEachMinute(options.site, stop.signal)]);
  } finally {
    stop.abort();
  }
}

/** Ends when it is told to, or where a ring fails. */
async function ringEachMinute(site: Site, signal: AbortSignal): Promise<never> {
  await site.ring?.();
  for (;;) {
    await delay(minuteMs - (Date.now() % minuteMs), undefined, { signal });
    await site.ring?.();
  }
}

async function play(options: QuietOptions): Promise<number> {
  const { site, screen, minutes, each } = options;
  const { earlyMs = 0, alarmsLateMs = 0 } = site;
  await startWaiting(site, each);
  screen.say("do", `${3 * each} runs: ${each} sleep, ${each} wait for a signal, and ${each} for a callback`);

  const from = Math.ceil((Date.now() + startingMs + armedMs + alarmsLateMs - halfMs) / minuteMs) * minuteMs + halfMs;
  const dueAt = from + minutes * minuteMs + halfMs + earlyMs;
  await startDueAt(site, dueAt);
  screen.say("do", `one more sleeps until ${clock(dueAt)}`);
  if (Date.now() + armedMs + alarmsLateMs > from) throw new Error("this machine is too slow to be quiet in time");
  screen.say("wait", `until ${clock(from)}: what these turns have armed rings once more, and finds nothing`);
  await until(from);

  screen.act(`Quiet minutes, from ${clock(from)} on`);
  const found = await count(options, from);

  screen.act("After that");
  await until(dueAt);
  const lateMs = await latenessMs(site, dueAt);
  screen.say("ok", `what was due at ${clock(dueAt)} woke: its step began ${(lateMs / 1_000).toFixed(3)} s later`);
  return found;
}

async function count({ site, log, screen, minutes }: QuietOptions, from: number): Promise<number> {
  await log.mark(marks.from);
  const headings = ["minute", ...Object.keys(site.counts), "statements in the log"];
  const tell = (cells: readonly (string | number)[]) => {
    screen.plain(`  ${cells.map((cell, index) => String(cell).padStart(headings[index]?.length ?? 0)).join("   ")}`);
  };
  tell(headings);
  const read = () => [...Object.values(site.counts), statementsIn(log.between(marks.from)).length];
  let before = read();
  for (let minute = 1; minute <= minutes; minute += 1) {
    await until(from + minute * minuteMs);
    const now = read();
    tell([minute, ...now.map((number, index) => number - (before[index] ?? 0))]);
    before = now;
  }
  await log.mark(marks.to);
  screen.act("Postgres' log of these minutes, from our one mark to the other");
  screen.plain(tailOf(log.excerpt(marks.from, marks.to)));
  return statementsIn(log.between(marks.from, marks.to)).length;
}

/** The last lines, each as far as it fits. */
function tailOf(text: string): string {
  const lines = text.trimEnd().split("\n");
  const left = Math.max(0, lines.length - 20);
  const shown = [...(left > 0 ? [`(${left} lines more)`] : []), ...lines.slice(left)];
  return shown.map((line) => `  ${line.slice(0, 160)}`).join("\n");
}

async function until(instant: number): Promise<void> {
  await delay(Math.max(0, instant - Date.now()));
}

function clock(instant: number): string {
  return new Date(instant).toISOString().slice(11, 19);
}
