/** Notes what a deployment carries, and registers the schedules that its code declares. */
import type { Schedule } from "../../core/contract/schedule.ts";
import { storedInput } from "../../core/contract/stored-input.ts";
import type { DeclaredSchedule, NoteAnswer, NoteCall } from "../../postgres/wire-scheduler.ts";
import type { EngineContext } from "../engine-context.ts";
import { defaults } from "../options.ts";
import type { TimeLimit } from "./time-limit.ts";

type Note = Pick<NoteCall, "note" | "deploymentName" | "deployment" | "isStart" | "isExclusive">;

/** Notes that a deployment is deployed, or that it is still there. */
export async function noteDeployment(context: EngineContext, limit: TimeLimit, note: Note): Promise<void> {
  const { calls, deployment, environment = defaults.environment } = context.options;
  const { versions, signatures, retention } = context.registry;
  const { deploymentName, deployment: id } = note;
  const named = { environment, deploymentName, deployment: id, wakeAddress: deployment?.wakeAddress };
  const call =
    note.note === "deployed"
      ? { ...named, ...note, versions, signatures, retention, schedules: await declared(context) }
      : { ...named, note: note.note };
  tellRefused(context, await limit.wait(() => calls.noteDeployment(call)));
}

/** Makes what is registered. A schedule whose input does not fit is told, and stays as it is: null. The others fire. */
async function declared({ registry, tell }: EngineContext): Promise<Readonly<Record<string, DeclaredSchedule | null>>> {
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
function tellRefused({ tell }: EngineContext, { schedules }: NoteAnswer): void {
  for (const { name, owner } of schedules?.refused ?? []) {
    const whose = owner === null ? "was made at run time" : `belongs to the deployment "${owner}"`;
    const reason = `another definition of that name ${whose}. To take it over: layover schedules adopt`;
    tell({ kind: "schedule_refused", schedule: name, reason });
  }
  for (const { name, reason } of schedules?.invalid ?? []) tell({ kind: "schedule_refused", schedule: name, reason });
}
