/**
 * Random programs that fail and are retried, without a database. Each step's body returns the name of the very piece of the
 * program that asked for it. So a piece that is given another one's result notices it.
 */
import { encode } from "../../../src/core/codec/codec.ts";
import type { Step } from "../../../src/core/contract/step.ts";
import { afterThrow } from "../../../src/core/replay/closing.ts";
import { type Demand, placeName } from "../../../src/core/replay/demand.ts";
import { Execution } from "../../../src/core/replay/execution.ts";
import type { HistoryRecord } from "../../../src/core/replay/history.ts";
import { makeStep } from "../../../src/core/replay/steps.ts";

/** A number in [0, 1). */
export type Random = () => number;

/** A piece of a program. Its id is the name of its result. */
type Piece =
  | { readonly kind: "step"; readonly id: string; readonly name: string }
  | { readonly kind: "sequence"; readonly parts: readonly Piece[] }
  | {
      readonly kind: "together";
      readonly how: "all" | "settled" | "rethrown" | "any";
      readonly parts: readonly Piece[];
    }
  | {
      readonly kind: "rooms";
      readonly how: "map" | "settled" | "rethrown" | "all" | "race";
      readonly parts: readonly Piece[];
    }
  | { readonly kind: "scope"; readonly part: Piece }
  | { readonly kind: "cleanup"; readonly steps: readonly { readonly id: string; readonly name: string }[] }
  /** The first flow that comes to it begins it, and all of them wait for it. */
  | { readonly kind: "shared"; readonly part: Piece }
  | {
      readonly kind: "guarded";
      readonly part: Piece;
      readonly otherwise: Piece | undefined;
      readonly isRethrown: boolean;
    };

/** Which pieces a crowded program is made of. */
const crowdedKinds = [0, 4, 5, 5, 5, 6, 9, 9, 9, 10, 11, 11, 12] as const;

/** `isCrowded`: flows run beside each other, catch what fails, and all steps have one name. So places are soon mistaken. */
export function aProgram(random: Random, isCrowded: boolean): Piece {
  let count = 0;
  const shared: Piece[] = [];
  const below = (limit: number) => Math.floor(random() * limit);
  const some = (depth: number, most: number) => Array.from({ length: 1 + below(most) }, () => piece(depth - 1));
  const piece = (depth: number): Piece => {
    const drawn = below(13);
    const kind = depth <= 0 ? 0 : isCrowded ? (crowdedKinds[drawn] ?? 0) : drawn;
    if (kind <= 3) return { kind: "step", id: `${++count}`, name: isCrowded || random() < 0.7 ? "a" : "b" };
    if (kind === 4) return { kind: "sequence", parts: some(depth, 3) };
    if (kind === 5)
      return {
        kind: "together",
        how: (["all", "settled", "rethrown", "rethrown", "any"] as const)[below(5)] ?? "all",
        parts: some(depth, 3),
      };
    if (kind <= 7)
      return {
        kind: "rooms",
        how: (["map", "settled", "rethrown", "rethrown", "all", "race"] as const)[below(6)] ?? "map",
        parts: some(depth, 3),
      };
    if (kind === 10) {
      const part: Piece = { kind: "shared", part: piece(depth - 1) };
      shared.push(part);
      return part;
    }
    if (kind === 11) return shared[below(shared.length)] ?? piece(depth - 1);
    if (kind === 8) return { kind: "scope", part: piece(depth - 1) };
    if (kind === 12)
      return { kind: "cleanup", steps: Array.from({ length: 1 + below(3) }, () => ({ id: `${++count}`, name: "a" })) };
    return {
      kind: "guarded",
      part: piece(depth - 1),
      otherwise: random() < 0.6 ? piece(depth - 1) : undefined,
      isRethrown: random() < 0.5,
    };
  };
  return { kind: "sequence", parts: [piece(4), piece(6), piece(4)] };
}

interface World {
  /** Told of a piece that was given another one's result. */
  readonly wrong: (what: string) => void;
  readonly shared: Map<Piece, Promise<void>>;
}

/** Carries out a piece. */
async function play(piece: Piece, step: Step, world: World): Promise<void> {
  switch (piece.kind) {
    case "step":
      return await runStep(piece.id, piece.name, step, world);
    case "sequence":
      for (const part of piece.parts) await play(part, step, world);
      return;
    case "together": {
      const parts = piece.parts.map((part) => play(part, step, world));
      if (piece.how === "all") await Promise.all(parts);
      else if (piece.how === "any") await Promise.any(parts);
      else throwFirst(await Promise.allSettled(parts), piece.how);
      return;
    }
    case "rooms": {
      const branches = piece.parts.map((part) => (context: { step: Step }) => play(part, context.step, world));
      if (piece.how === "map") await step.map("m", piece.parts, (part, context) => play(part, context.step, world));
      else if (piece.how === "all") await step.all("l", branches);
      else if (piece.how === "race") await step.race("r", branches);
      else
        throwFirst(
          await step.mapSettled("m", piece.parts, (part, context) => play(part, context.step, world)),
          piece.how,
        );
      return;
    }
    case "cleanup":
      await step.cleanup("c", async ({ step }) => {
        for (const { id, name } of piece.steps) await runStep(id, name, step, world);
      });
      return;
    case "scope":
      await step.scope("s", (context) => play(piece.part, context.step, world));
      return;
    case "shared": {
      const begun = world.shared.get(piece) ?? play(piece.part, step, world);
      begun.catch(() => {});
      world.shared.set(piece, begun);
      return await begun;
    }
    case "guarded":
      try {
        await play(piece.part, step, world);
      } catch (error) {
        if (piece.otherwise !== undefined) await play(piece.otherwise, step, world);
        if (piece.isRethrown) throw error;
      }
  }
}

async function runStep(id: string, name: string, step: Pick<Step, "run">, { wrong }: World): Promise<void> {
  const result = await step.run(name, () => id);
  if (result !== id) wrong(`piece ${id} was given the result of piece ${result}`);
}

/** Waits for all, and fails then by the first failure. */
function throwFirst(settled: readonly PromiseSettledResult<void>[], how: string): void {
  const failed = settled.find((one) => one.status === "rejected");
  if (how === "rethrown" && failed !== undefined) throw failed.reason;
}

export interface Verdict {
  readonly outcome: "completed" | "failed" | "refused" | "diverged" | "stuck";
  /** How often it was retried. */
  readonly retries: number;
  /** How often it was retried after an error amid a cleanup. */
  readonly cleanups: number;
  readonly wrongs: readonly string[];
}

/** Plays a program until it completes, or a retry is refused. Each try fails some steps, the fifth one none. */
export async function playAndRetry(program: Piece, random: Random): Promise<Verdict> {
  const wrongs: string[] = [];
  let cleanups = 0;
  let history: readonly HistoryRecord[] = [];
  for (let retries = 0; ; retries += 1) {
    const succeeded = new Set(history.filter(({ isFailure }) => !isFailure).map(({ value }) => value));
    const { execution, records, isRefused } = await playOnce(program, history, random, {
      chanceToFail: retries < 4 ? 0.4 / (retries + 1) : 0,
      wrong: (what) => wrongs.push(what),
      begin: (id) => {
        if (succeeded.has(encode(id))) wrongs.push(`piece ${id} was carried out again`);
      },
    });
    if (isRefused) return { outcome: "diverged", retries, cleanups, wrongs };
    if (execution.outcome === undefined) return { outcome: "stuck", retries, cleanups, wrongs };
    if (execution.outcome.kind !== "threw") return { outcome: "completed", retries, cleanups, wrongs };
    const { at = records.length + 1, repeats } = execution.describeFailure({ thrown: execution.outcome.error });
    if (at > records.length) return { outcome: "failed", retries, cleanups, wrongs };
    if (repeats.length > 0) return { outcome: "refused", retries, cleanups, wrongs };
    history = records.filter(({ isFailure }, index) => index + 1 < at || (index + 1 > at && !isFailure));
    if (records.some(({ kind }) => kind === "closing")) cleanups += 1;
  }
}

async function playOnce(
  program: Piece,
  history: readonly HistoryRecord[],
  random: Random,
  { chanceToFail, wrong, begin }: { chanceToFail: number; wrong: (what: string) => void; begin: (id: string) => void },
) {
  const execution = new Execution({ atRest, beginsAt: 0 });
  const step = makeStep({
    execution,
    seed: () => new Uint8Array(32),
    keySeed: () => new Uint8Array(32),
    knownRun: (made) => made,
    callbackEpoch: () => undefined,
    encodeInput: async () => "",
    sealCallback: () => ({ url: "", token: "" }),
    say: () => {},
    isPatched: () => false,
    parseStatus: (value) => value,
    stepTimeoutMs: 1,
    digest: (text) => text,
    signals: [],
    callbacks: [],
  });
  await execution.begin(() => play(program, step, { wrong, shared: new Map() }));
  const records: HistoryRecord[] = [];
  const hand = async (record: HistoryRecord) => {
    records.push(record);
    await execution.hand(record);
  };
  for (const record of history) {
    await hand(record);
    if (execution.divergence !== undefined) return { execution, records, isRefused: true };
  }
  let left: readonly Demand[] = []; // what the run waited for when its handler had thrown amid a cleanup: it may be at work
  while (!execution.isOver || execution.mustCleanUp) {
    if (execution.mustCleanUp && random() < 0.5) {
      left = execution.pending;
      await hand(closing);
      left = left.filter(({ path, occurrence }) => execution.find(path, occurrence) === undefined);
      continue;
    }
    const pending = [...execution.pending, ...left];
    const demand = pending[Math.floor(random() * pending.length)];
    if (demand === undefined) break;
    left = left.filter((one) => one !== demand);
    await hand(await recordOf(demand, random() < chanceToFail, begin));
    if (execution.divergence !== undefined) throw new Error(`${placeName(demand)}: ${execution.divergence}`);
  }
  return { execution, records, isRefused: false };
}

const closing: HistoryRecord = {
  ...{ kind: "closing", path: "", occurrence: 1, isFailure: true, value: afterThrow, recordedAt: 0, attempts: 1 },
};

async function recordOf(demand: Demand, isFailure: boolean, begin: (id: string) => void): Promise<HistoryRecord> {
  const { path, occurrence, wanted } = demand;
  if (wanted.kind !== "step") throw new Error(`${path} is no step`);
  const shared = { kind: "step" as const, path, occurrence, recordedAt: 0, attempts: 1 };
  const context = { attempt: 1, idempotencyKey: "", abortSignal: new AbortController().signal };
  const id = String(await wanted.body(context));
  begin(id);
  if (isFailure) return { ...shared, isFailure, value: encode({ name: "Error", message: id }) };
  return { ...shared, isFailure, value: encode(id) };
}

function atRest(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
