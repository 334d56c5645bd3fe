/**
 * The schedules of a tick: it registers those that the code declares, and fires those that are due. What a firing starts is
 * a run like any other. If the process dies here, the schedules are still due, or their runs are.
 */
import type { Schedule } from "../../core/contract/schedule.ts";
import { storedInput } from "../../core/contract/stored-input.ts";
import { minuteMs, motionMinute } from "../../core/waking.ts";
import type { DeclaredSchedule, DueAnswer, NoteAnswer } from "../../postgres/wire-scheduler.ts";
import type { EngineContext } from "../engine-context.ts";
import { defaults } from "../options.ts";
import type { DelayedTurn } from "./due-runs.ts";
import type { TimeLimit } from "./time-limit.ts";

/** How far the host's clock and the database's may be apart. Beyond that one of them is wrong, perhaps the database's. */
const clocksApartMs = 60 * minuteMs;
/** When schedules are looked at again that were not fired for that. */
const heldMs = 10 * minuteMs;

/** Makes what is registered. A schedule whose input does not fit is told, and stays as it is: null. The others fire. */
export async function declared({
  registry,
  tell,
}: EngineContext): Promise<Readonly<Record<string, DeclaredSchedule | null>>> {
  const all: Record<string, DeclaredSchedule | null> = {};
  for (const schedule of registry.schedules) {
    try {
      all[schedule.name] = { ...schedule.definition, ...(await inputOf(schedule)) };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      tell({ kind: "schedule_refused", schedule: schedule.name, reason });
      all[schedule.name] = null;
    }
  }
  return all;
}

async function inputOf({
  contract,
  input,
}: Schedule): Promise<Pick<DeclaredSchedule, "encodedInput" | "computesInput">> {
  return typeof input === "function" ? { computesInput: true } : { encodedInput: await storedInput(contract, input) };
}

/** Tells which schedules were not registered. */
export function tellRefused({ tell }: EngineContext, { schedules }: NoteAnswer): void {
  for (const { name, owner } of schedules?.refused ?? []) {
    const whose = owner === null ? "was made at run time" : `belongs to the deployment "${owner}"`;
    const reason = `another definition of that name ${whose}. To take it over: layover schedules adopt`;
    tell({ kind: "schedule_refused", schedule: name, reason });
  }
  for (const { name, reason } of schedules?.invalid ?? []) tell({ kind: "schedule_refused", schedule: name, reason });
}

/** Fires what is due, and answers the runs to dispatch. If more is due, it arms the next minute for the rest. */
export async function fire(
  { options, registry, tell }: EngineContext,
  limit: TimeLimit,
  { now, schedules }: DueAnswer,
): Promise<readonly DelayedTurn[]> {
  if (schedules == null) return [];
  const { calls, timeOfDay, environment = defaults.environment } = options;
  const apartMs = timeOfDay === undefined ? 0 : Math.abs(timeOfDay() - now);
  if (apartMs > clocksApartMs) {
    const message = `${schedules.length} schedules are due and not fired: the clocks of this host and of the database are ${Math.round(apartMs / minuteMs)} minutes apart`;
    tell({ kind: "schedules_held", due: schedules.length, message });
    await limit.wait(() => calls.alarms.arm([motionMinute(now + heldMs)]));
    return [];
  }
  const names = schedules.map(({ name }) => name);
  const lookAt = schedules.flatMap(({ lookAt }) => lookAt ?? []);
  const {
    runs,
    skips,
    stopped = [],
    left,
  } = await limit.wait(() => calls.fireSchedules({ environment, versions: registry.versions, names }, lookAt));
  for (const { schedule, inRow, skip } of skips) {
    const { cause, at, runId, reason } = skip;
    tell({ kind: "schedule_skipped", schedule, cause, scheduledAt: new Date(at), runId, reason, inRow });
  }
  for (const one of stopped) tell({ kind: "schedule_stopped", ...one });
  if (left > 0 || names.length === mostSchedules) await limit.wait(() => calls.alarms.arm([motionMinute(now)]));
  return runs.flatMap(({ runId, turn }) => (turn === null ? [] : [{ ref: { runId, turn }, delayMs: 0 }]));
}

/** How many schedules a look lists (`list_due`). */
const mostSchedules = 500;
