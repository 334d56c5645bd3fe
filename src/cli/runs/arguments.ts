/** What several commands take, read the same way. */
import { toMilliseconds } from "../../core/duration.ts";
import { UsageError } from "../usage-error.ts";

/** `--tag customer:c1`, any number of times. */
export function tagIn(text: string, before: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const colon = text.indexOf(":");
  if (colon > 0) return { ...before, [text.slice(0, colon)]: text.slice(colon + 1) };
  throw new UsageError(`The tag ${JSON.stringify(text)} is not NAME:VALUE.`, { hint: "Write --tag customer:c1" });
}

/** `--header name:value`, any number of times. */
export function headerIn(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const [, name, value] = /^([\w-]+):\s*([\x20-\x7e]+)$/.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return { ...before, [name]: value };
  throw new UsageError(`The header ${JSON.stringify(text)} is not NAME:VALUE.`, {
    hint: "Write --header 'cloudflare-workers-version-overrides: shop=\"…\"'",
  });
}

export function wholeNumberIn(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`${JSON.stringify(text)} is not a whole number.`, { hint: "Write digits alone, such as 50." });
}

const day = /^\d{4}-\d\d-\d\d$/;
const time = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?$/i;

/** `2026-11-20`, `2026-11-20 18:00`: in the zone of this machine, as the screens show times, if it names none. */
export function instantIn(text: string): Date {
  const date = day.test(text) ? new Date(`${text}T00:00`) : new Date(time.test(text) ? text.replace(" ", "T") : "");
  if (!Number.isNaN(date.getTime())) return date;
  throw new UsageError(`${JSON.stringify(text)} is no time.`, {
    hint: 'Write 2026-11-20, "2026-11-20 18:00" or 2026-11-20T17:00:00Z.',
  });
}

/** Reads a duration in milliseconds. @throws LayoverError `invalid_duration` */
export function durationIn(text: string): number {
  return toMilliseconds(text);
}
