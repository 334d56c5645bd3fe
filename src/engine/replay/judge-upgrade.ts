/**
 * Tells whether a run fits another version of its workflow, and so may be moved there: what it was given passes that version's
 * schemas unchanged, and its history replays with that version's code. It carries nothing out.
 */
import { canonical } from "../../core/codec/canonical.ts";
import { fromStored, toStored } from "../../core/codec/stored-value.ts";
import type { Contract } from "../../core/contract/contract.ts";
import { parse, type Schema } from "../../core/contract/schema.ts";
import { isSensitive } from "../../core/contract/sensitive.ts";
import { isSameSchema } from "../../core/contract/signature.ts";
import { storedInput } from "../../core/contract/stored-input.ts";
import { LayoverError } from "../../core/errors.ts";
import type { WireSignal } from "../../postgres/wire.ts";
import type { MailPage } from "../../postgres/wire-replay.ts";
import type { Registry } from "../registry.ts";
import { type ReplayOptions, type ReplayVerdict, replayStored, type StoredRun } from "./replay-stored.ts";

/** The version to which a run is to be moved, with the signals that the run may still be given. */
export interface Move extends Pick<MailPage, "isAwaited" | "signals"> {
  readonly to: number;
}

/** `refused`: a value or a schema of the other version does not fit. */
export type UpgradeVerdict = ReplayVerdict | { readonly outcome: "refused"; readonly reason: string };

/** Stored values are not measured again: the limit held when they were stored, and was larger with a store (layover/store). */
const anySize = { maxBytes: Number.POSITIVE_INFINITY };

export async function judgeUpgrade(
  registry: Registry,
  stored: StoredRun,
  move: Move,
  options: ReplayOptions = {},
): Promise<UpgradeVerdict> {
  const { workflow: name, version } = stored.run;
  const next = registry.find(name, move.to);
  if (next === undefined) throw new Error(`version ${move.to} of ${name} is not here`);
  const before = registry.find(name, version)?.contract;
  const reason =
    (await whyInputDiffers(next.contract, stored)) ??
    (await firstOf(move.signals, (signal) => whyMailDiffers(next.contract, signal))) ??
    whySchemasDiffer(before, next.contract, stored, move);
  if (reason !== undefined) return { outcome: "refused", reason };
  return await replayStored(next, { ...stored, run: { ...stored.run, version: move.to } }, { registry, ...options });
}

/** An input that nobody has parsed yet is parsed by the version whose code begins the run. */
async function whyInputDiffers(contract: Contract, { run }: StoredRun): Promise<string | undefined> {
  if (!run.isInputParsed) return undefined;
  return await whyChanged("its input", run.input, () => storedInput(contract, fromStored(run.input), anySize));
}

async function whyMailDiffers(
  contract: Contract,
  { name, payload, isParsed }: WireSignal,
): Promise<string | undefined> {
  const { signals } = contract;
  const schema = Object.hasOwn(signals, name) ? signals[name] : undefined;
  const what = `the signal "${name}", which it has not taken`;
  if (schema === undefined) return `it was sent ${what}, and the version has no such signal`;
  return await whyChanged(what, payload, async () => {
    const terms = { what, isSensitive: isSensitive(contract, `signals.${name}`) };
    const parsed = await parse(schema, fromStored(payload), { code: "invalid_payload", ...terms });
    return isParsed ? toStored(parsed, { ...terms, ...anySize }) : payload;
  });
}

/** Says why a stored text is not the one that the other version would have stored. */
async function whyChanged(what: string, stored: string, make: () => Promise<string>): Promise<string | undefined> {
  try {
    if (canonical(await make()) === canonical(stored)) return undefined;
    return `the version's schema makes another value of ${what}`;
  } catch (error) {
    if (error instanceof LayoverError) return error.message;
    throw error;
  }
}

/** A link that was sent is answered by the schema of before, and a parent reads the result as it was promised. */
function whySchemasDiffer(
  before: Contract | undefined,
  next: Contract,
  { pending, run }: StoredRun,
  { isAwaited }: Move,
): string | undefined {
  const open = pending.filter(({ kind, position }) => kind === "callback" && position === null);
  const names = [...new Set(open.map(({ path }) => path.slice(path.lastIndexOf("/") + 1)))];
  if (before === undefined && (isAwaited || names.length > 0)) {
    return `this code does not have version ${run.version}, so nobody can tell whether what others were promised is the same`;
  }
  const other = names.find((name) => !isSame(before?.callbacks[name], next.callbacks[name]));
  if (other !== undefined) return `it waits for the callback "${other}", of which the version has another schema`;
  if (isAwaited && !isSame(before?.output, next.output)) {
    return "another run waits for its result, of which the version has another schema";
  }
  return undefined;
}

function isSame(one: Schema | undefined, other: Schema | undefined): boolean {
  return one === other || (one !== undefined && other !== undefined && isSameSchema(one, other));
}

async function firstOf<Item>(
  items: readonly Item[],
  find: (item: Item) => Promise<string | undefined>,
): Promise<string | undefined> {
  for (const item of items) {
    const found = await find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
