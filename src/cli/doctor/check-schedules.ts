/** Says which schedules do not fire, or not as some code says. */

import { troublesOf } from "../../client/schedule-text.ts";
import { type ScheduleView, scheduleView } from "../../client/schedules.ts";
import type { Diagnosis } from "../../postgres/wire-operator.ts";
import { fromNow } from "../times.ts";
import type { Check } from "./check.ts";

export function checkSchedules({ schedules = [], now }: Diagnosis): readonly Check[] {
  return schedules.map((wire): Check => {
    const view = scheduleView(wire);
    const { firesAt, rivalOwner } = view;
    const overdue = firesAt === undefined ? "" : `it should have fired ${fromNow(firesAt, new Date(now))}`;
    const says = troublesOf(view).join("; ") || overdue;
    return {
      about: "schedules",
      level: view.isCarried && rivalOwner !== undefined ? "warning" : "problem",
      says: `${view.name}: ${says}.`,
      todo: todoOf(view),
      facts: { ...wire },
    };
  });
}

function todoOf({ name, ownerIsLive, owner, rivalOwner, alsoDeclaredBy = [] }: ScheduleView): string {
  const [heir] = rivalOwner === undefined && ownerIsLive ? [] : [rivalOwner ?? alsoDeclaredBy[0]];
  if (heir !== undefined) return `layover schedules adopt ${name} --owner ${heir}`;
  return ownerIsLive
    ? `See layover schedules show ${name}`
    : `Start ${owner} again. If it is gone for good: layover schedules delete ${name}`;
}
