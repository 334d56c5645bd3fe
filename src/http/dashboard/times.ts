/** Times as the pages show them: in UTC, until the script shows them as the reader's clock does. */
import { html } from "hono/html";
import { formatDuration } from "../../core/duration.ts";
import type { Html } from "./screens.ts";

/** "2026-11-20 18:00:12 UTC" */
export function time(at: Date): Html {
  const text = at.toISOString();
  return html`<time datetime="${text}">${text.slice(0, 19).replace("T", " ")} UTC</time>`;
}

/** The same, which the script turns into "3 min ago". */
export function age(at: Date): Html {
  const text = at.toISOString();
  return html`<time datetime="${text}" data-age>${text.slice(0, 16).replace("T", " ")} UTC</time>`;
}

/** A length of time. It leaves out milliseconds if there are seconds. */
export function lasting(ms: number): string {
  return formatDuration(ms < 1_000 ? ms : ms - (ms % 1_000));
}

/** The time that an id of version 7 holds. Undefined: it is of another version. */
export function msOfUuid(id: string): number | undefined {
  return id[14] === "7" ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : undefined;
}
