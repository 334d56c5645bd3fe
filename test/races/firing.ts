/** Creates and fires schedules that fire every hour. */
import { minute, noon } from "./runs.ts";
import type { Stage } from "./stage.ts";

export const hour = 60 * minute;
export const next = noon + hour;
const versions = { flow: [1], other: [1] };
export const elsewhere = { namespace: "elsewhere" };

export function firingsOn(stage: Stage) {
  const definition = { workflow: "flow", version: 1, everyMs: hour, startAt: noon, encodedInput: "0null" };
  const create = (name: string, more: object = {}, call: object = {}) =>
    stage.onlooker.call("create_schedule", { name, definition: { ...definition, ...more }, armed: [next], ...call });
  const fire = (names: readonly string[], more: object = {}) =>
    stage.onlooker.call("fire_schedules", { names, versions, armed: [next + minute, next + hour], ...more });
  return { create, fire };
}
