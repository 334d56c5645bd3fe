/** Describes the replay of one run for a terminal: each record with its value and the line that asked for it, then what the run waits for. */
import type { ExportedRun } from "../../client/exports.ts";
import { readable, readableError } from "../../client/unreadable.ts";
import { placeName } from "../../core/replay/demand.ts";
import type { ReplayVerdict } from "../../engine/replay/replay-stored.ts";
import type { WireRecord } from "../../postgres/wire.ts";
import { describeError, describeValue } from "../runs/values.ts";
import { plain, screenWidth, table } from "../screen.ts";

export function replayText(stored: ExportedRun, verdict: ReplayVerdict): string {
  const { run, runId, status, records } = stored;
  const lines = new Map(verdict.asked.map(({ place, line }) => [place, line]));
  const handed = "position" in verdict ? records.slice(0, verdict.position) : records;
  const places = new Set(handed.map(placeOf));
  const rows = handed.map((record, index) => [
    String(index + 1),
    record[0],
    placeOf(record),
    answerOf(record),
    shownLine(lines.get(placeOf(record))),
  ]);
  const open = verdict.asked.filter(({ place }) => !places.has(place));
  return [
    plain(`${run.workflow} version ${run.version}, run ${runId}: ${status}`),
    ...(rows.length > 0
      ? [table([{ title: "" }, { title: "KIND" }, { title: "PLACE" }, { title: "ANSWER" }, { title: "LINE" }], rows)]
      : ["Nothing is recorded of it."]),
    ...open.map(({ kind, place, line }) => plain(`It asks for ${kind} ${place} ${shownLine(line)}`.trimEnd())),
    ...conclusion(verdict),
  ].join("\n");
}

function placeOf([, path, occurrence]: WireRecord): string {
  return placeName({ path, occurrence });
}

function answerOf([, , , isFailure, value]: WireRecord): string {
  if (isFailure) return describeError(readableError(value));
  return describeValue(readable(value), Math.min(screenWidth(), 10_000));
}

function shownLine(line: string | undefined): string {
  const here = `${process.cwd()}/`;
  return line === undefined ? "" : line.startsWith(here) ? line.slice(here.length) : line;
}

function conclusion(verdict: ReplayVerdict): readonly string[] {
  if (verdict.outcome === "fits") return ["The code fits."];
  const { outcome, position, reason } = verdict;
  const what = outcome === "blocks" ? "The run would be blocked" : "The code ends otherwise than the run";
  const expected = outcome === "blocks" ? verdict.expected : undefined;
  return [
    plain(`${what} after ${position} record${position === 1 ? "" : "s"}: ${reason}`),
    ...(expected === undefined ? [] : [plain(`The history holds: ${expected}`)]),
  ];
}
