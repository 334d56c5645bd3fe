/** A handler over its history without a database, in milliseconds. */
import { createHash } from "node:crypto";
import { encode } from "../../../src/core/codec/codec.ts";
import type { Question, Step } from "../../../src/core/contract/step.ts";
import { type Demand, placeName } from "../../../src/core/replay/demand.ts";
import { Execution } from "../../../src/core/replay/execution.ts";
import type { HistoryRecord } from "../../../src/core/replay/history.ts";
import { makeStep } from "../../../src/core/replay/steps.ts";
import { digestOf } from "../../../src/engine/digest.ts";

interface Sealed extends Question {
  readonly path: string;
  readonly endsAt: number;
}

export interface Handled {
  readonly execution: Execution;
  /** The place that each callback's token names, when it ends, and what it asks. */
  readonly sealed: readonly Sealed[];
  /** Where the handler waits. */
  readonly places: () => readonly string[];
  readonly find: (place: string) => Demand;
  /** Hands out the record of a step, a sleep that ended, a signal … */
  readonly hand: (place: string, value?: unknown, more?: Partial<HistoryRecord>) => Promise<void>;
}

/** Begins a handler at its first rest. */
export async function aHandler(handle: (step: Step) => Promise<unknown>): Promise<Handled> {
  const atRest = () => new Promise<void>((resolve) => void setImmediate(resolve));
  const execution = new Execution({ atRest, beginsAt: Date.UTC(2026, 0, 1) });
  const sealed: Sealed[] = [];
  const step = makeStep({
    execution,
    seed: (text) => createHash("sha256").update(text).digest(),
    keySeed: (text) => createHash("sha256").update(text).digest(),
    knownRun: (made) => made,
    callbackEpoch: () => undefined,
    encodeInput: async (input) => encode(input),
    sealCallback: ({ path, endsAt, title, text }) => {
      sealed.push({ path, endsAt, ...(title !== undefined && { title }), ...(text !== undefined && { text }) });
      return { url: `https://example.com/${path}`, token: path };
    },
    say: () => {},
    isPatched: () => false,
    parseStatus: (value) => value,
    stepTimeoutMs: 60_000,
    digest: digestOf,
    signals: ["go", "item"],
    callbacks: ["approval"],
  });
  await execution.begin(() => handle(step));
  const find = (place: string): Demand => {
    const demand = execution.pending.find((one) => placeName(one) === place);
    if (demand === undefined) throw new Error(`the handler does not wait at ${place}`);
    return demand;
  };
  return {
    execution,
    sealed,
    find,
    places: () => execution.pending.map(placeName),
    hand: async (place, value, more = {}) => {
      const { path, occurrence, wanted } = find(place);
      const { kind } = wanted;
      if (kind === "continueAsNew") throw new Error("no record settles it");
      const recordedAt = execution.now + 1_000;
      const text = kind === "sleep" ? null : encode(value);
      await execution.hand({ kind, path, occurrence, isFailure: false, value: text, recordedAt, attempts: 1, ...more });
    },
  };
}
