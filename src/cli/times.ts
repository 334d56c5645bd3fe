/** Times as people read them, in the zone of their machine. */
import { formatDuration } from "../core/duration.ts";

/** "2026-11-20" */
export function day(date: Date): string {
  return [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
}

/** "2026-11-20 18:00:12" */
export function clockTime(date: Date): string {
  return `${day(date)} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":")}`;
}

function two(part: number): string {
  return String(part).padStart(2, "0");
}

/** "in 2 h 5 min", "3 min ago", "now" */
export function fromNow(date: Date, now: Date): string {
  const ms = date.getTime() - now.getTime();
  if (Math.abs(ms) < 1_000) return "now";
  return ms > 0 ? `in ${lasting(ms)}` : `${lasting(-ms)} ago`;
}

/** "in 2 h 5 min (2026-11-20 18:00:12)" */
export function moment(date: Date, now: Date): string {
  return `${fromNow(date, now)} (${clockTime(date)})`;
}

/** Shows a length of time. It leaves out milliseconds if there are seconds. */
export function lasting(ms: number): string {
  return formatDuration(ms < 1_000 ? ms : ms - (ms % 1_000));
}
