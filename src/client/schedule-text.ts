/** The texts that people read of a schedule: its calendar, and what is wrong with it. */
import type { ScheduleDefinition } from "../core/contract/schedule.ts";
import { formatDuration } from "../core/duration.ts";
import type { ScheduleView } from "./schedules.ts";

/** "0 3 * * * Europe/Berlin", "every 2 h", "at 2026-11-20T10:00:00.000Z" */
export function calendarText({ cron, timezone, everyMs, at }: ScheduleDefinition): string {
  if (cron !== undefined) return `${cron} ${timezone ?? "UTC"}`;
  return everyMs === undefined ? `at ${new Date(at ?? 0).toISOString()}` : `every ${formatDuration(everyMs)}`;
}

/** A schedule that has skipped so often in a row is shown as silent. */
const manySkips = 3;

/** Why it does not fire, or not as its code says. */
export function troublesOf(schedule: ScheduleView): readonly string[] {
  const {
    paused,
    workflow,
    version,
    workflowIsPaused,
    isCarried,
    ownerIsLive,
    owner,
    rivalOwner,
    stoppedBecause,
    skippedInRow,
    lastSkip,
  } = schedule;
  const by = paused?.by === undefined ? "" : ` by ${paused.by}`;
  const why = paused?.reason === undefined ? "" : `: ${paused.reason}`;
  return [
    ...(paused === undefined ? [] : [`paused${by}${why}`]),
    ...(stoppedBecause === undefined ? [] : [`fires no more: ${stoppedBecause}`]),
    ...(neverFires(schedule) ? ["never fires: its instant had passed before it was declared"] : []),
    ...(workflowIsPaused ? [`the workflow ${workflow} is paused`] : []),
    ...(isCarried ? [] : [`no live deployment carries version ${version} of ${workflow}`]),
    ...(ownerIsLive ? [] : [`its owner ${owner} is gone`]),
    ...(rivalOwner === undefined ? [] : [`${rivalOwner} declares something else under this name`]),
    ...(skippedInRow < manySkips
      ? []
      : [`left out ${skippedInRow} times in a row: ${lastSkip?.reason ?? lastSkip?.cause}`]),
  ];
}

/** Whether its one instant has passed, and was neither fired nor left out. */
function neverFires({ definition: { at }, nextAt, lastAt }: ScheduleView): boolean {
  return at !== undefined && nextAt === undefined && lastAt?.getTime() !== at;
}
