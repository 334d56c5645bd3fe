/** Says which schedules do not fire, or not as some code says. */

import { troublesOf } from "../../client/schedule-text.ts";
import { scheduleView } from "../../client/schedules.ts";
import type { Diagnosis } from "../../postgres/wire-operator.ts";
import { fromNow } from "../times.ts";
import type { Check } from "./check.ts";

export function checkSchedules({ schedules = [], now }: Diagnosis): readonly Check[] {
  return schedules.map((wire): Check => {
    const view = scheduleView(wire);
    const { name, firesAt, rivalOwner } = view;
    const overdue = firesAt === undefined ? "" : `it should have fired ${fromNow(firesAt, new Date(now))}`;
    const says = troublesOf(view).join("; ") || overdue;
    return {
      about: "schedules",
      level: view.isCarried && rivalOwner !== undefined ? "warning" : "problem",
      says: `${name}: ${says}.`,
      todo:
        rivalOwner === undefined
          ? `See layover schedules show ${name}`
          : `layover schedules adopt ${name} --owner ${rivalOwner}`,
      facts: { ...wire },
    };
  });
}
