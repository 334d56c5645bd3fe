/** Finds runs that are not over, and reads one as a replay needs it: with its whole history, and the signals that it has not taken. It writes nothing. */
import { LayoverError } from "../../core/errors.ts";
import type { Calls } from "../../postgres/calls.ts";
import type { WireSignal } from "../../postgres/wire.ts";
import type { MailPage, ParkedCall, ParkedPage } from "../../postgres/wire-replay.ts";
import type { RunKey } from "../../postgres/wire-verbs.ts";
import { type ExportedRun, readExport } from "../exports.ts";

/**
 * Lists a page of the runs that are not over and fit a filter.
 *
 * @throws LayoverError `not_applicable` if the database does not know the whole filter: more runs would be meant than were asked for
 */
export async function listParked(calls: Pick<Calls, "listParked">, call: ParkedCall): Promise<ParkedPage> {
  const { workflow: _, version: __, before: ___, limit: ____, ...others } = call;
  const page = await calls.listParked(call);
  if (page.isFiltered === true || Object.keys(others).length === 0) return page;
  throw new LayoverError("not_applicable", "the database lists runs under way by workflow and version alone", {
    hint: "Run layover migrate, or leave out what else says which runs are meant.",
  });
}

/** Reads a run that is not over with its whole history. Undefined: it is over, or was deleted. */
export async function readStored(calls: Pick<Calls, "readReplay">, runId: string): Promise<ExportedRun | undefined> {
  const stored = await readWhole(calls, { runId });
  return stored !== undefined && ["completed", "failed", "cancelled"].includes(stored.status) ? undefined : stored;
}

/** Reads a run with the whole history of its newest epoch. Undefined: there is none. */
export async function readWhole(calls: Pick<Calls, "readReplay">, key: RunKey): Promise<ExportedRun | undefined> {
  const first = await calls.readReplay(key);
  if (first.outcome !== "read") return undefined;
  return await readExport(async (after) => {
    const page = after === 0 ? first : await calls.readReplay({ runId: first.runId, after });
    if (page.outcome !== "read") throw new Error(`the run ${first.runId} was deleted meanwhile`);
    return page;
  });
}

/** Reads all signals that a run has not taken. Undefined: there is no such run. */
export async function readMail(calls: Pick<Calls, "readMail">, runId: string): Promise<MailPage | undefined> {
  const first = await calls.readMail({ runId });
  if (first.outcome !== "read") return undefined;
  const signals: WireSignal[] = [...first.signals];
  for (let page = first; page.signals.length > 0; ) {
    const next = await calls.readMail({ runId, after: signals.at(-1)?.number ?? 0 });
    if (next.outcome !== "read") return undefined;
    signals.push(...next.signals);
    page = next;
  }
  return { ...first, signals };
}
