/** Notes what a deployment carries, and registers the schedules that its code declares. */
import type { Schedule } from "../../core/contract/schedule.ts";
import { storedInput } from "../../core/contract/stored-input.ts";
import type { DeclaredSchedule, NoteAnswer, NoteCall } from "../../postgres/wire-scheduler.ts";
import type { EngineContext } from "../engine-context.ts";
import { defaults } from "../options.ts";
import type { TimeLimit } from "./time-limit.ts";

type Declared = Readonly<Record<string, DeclaredSchedule | null>>;
type Note = Pick<NoteCall, "note" | "deploymentName" | "deployment" | "isStart" | "isExclusive">;

/** How many schedules one call registers: some 1.7 ms each on two cores. And how many characters its definitions have. */
const pageSize = 500;
const mostLength = 2 ** 20;

/**
 * Notes that a deployment is deployed, or that it is still there. Many schedules are registered by several calls. Until the last
 * one the build has declared nothing, so its next tick begins anew if this one dies. If a newer build declares its own
 * meanwhile, this one leaves off.
 */
export async function noteDeployment(context: EngineContext, limit: TimeLimit, note: Note): Promise<void> {
  const { calls, deployment, environment = defaults.environment } = context.options;
  const { versions, signatures, retention } = context.registry;
  const { deploymentName, deployment: id } = note;
  const named = { environment, deploymentName, deployment: id };
  const send = async (call: Omit<NoteCall, keyof typeof named>): Promise<NoteAnswer> => {
    const answer = await limit.wait(() => calls.noteDeployment({ ...named, ...call }));
    tellRefused(context, deploymentName, answer);
    limit.extend();
    return answer;
  };
  const wakeAddress = deployment?.wakeAddress;
  if (note.note !== "deployed") return void (await send({ note: note.note, wakeAddress }));
  const all = await declared(context);
  const [first = {}, ...others] = pagesOf(all);
  const carried = { ...note, wakeAddress, versions, signatures, retention };
  if (others.length === 0) return void (await send({ ...carried, schedules: first }));
  let isOpen = (await send({ ...carried, declaresLater: true })).declares === true;
  for (const schedules of [first, ...others]) {
    if (!isOpen) return;
    const isLast = schedules === others.at(-1);
    const answer = await send(
      isLast ? { note: "declared", schedules, names: Object.keys(all) } : { note: "declaring", schedules },
    );
    isOpen = answer.schedules != null;
  }
}

function pagesOf(all: Declared): readonly Declared[] {
  const pages: Record<string, DeclaredSchedule | null>[] = [];
  let count = pageSize;
  let length = 0;
  for (const [name, definition] of Object.entries(all)) {
    const more = JSON.stringify(definition).length;
    if (count === pageSize || length + more > mostLength) {
      pages.push({});
      [count, length] = [0, 0];
    }
    Object.assign(pages.at(-1) ?? {}, { [name]: definition });
    count += 1;
    length += more;
  }
  return pages;
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

/** Tells which schedules were not registered, and which ones came too late. */
function tellRefused({ tell }: EngineContext, by: string | undefined, { schedules }: NoteAnswer): void {
  for (const { name, owner } of schedules?.refused ?? []) {
    const whose = owner === null ? "was made at run time" : `belongs to the deployment "${owner}"`;
    const reason = `another definition of that name ${whose}. To take it over: layover schedules adopt ${name} --owner ${by}`;
    tell({ kind: "schedule_refused", schedule: name, reason });
  }
  for (const { name, reason } of schedules?.invalid ?? []) tell({ kind: "schedule_refused", schedule: name, reason });
  for (const { name, at } of schedules?.passed ?? []) {
    const reason = `its instant, ${new Date(at).toISOString()}, had passed before it was declared. Give it a later one, or remove it`;
    tell({ kind: "schedule_stopped", schedule: name, reason });
  }
}
