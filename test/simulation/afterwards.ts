/** Looks where the handler of a run stood at its end: runs it over the recorded history once more. */
import type { Pool } from "pg";
import { Execution } from "../../src/core/replay/execution.ts";
import { Segments } from "../../src/core/replay/segments.ts";
import { makeStep } from "../../src/core/replay/steps.ts";
import { digestOf } from "../../src/engine/digest.ts";
import { LoadedRun } from "../../src/engine/replay/loaded-run.ts";
import type { WireRecord, WireRun } from "../../src/postgres/wire.ts";
import type { ProgramContract } from "./programs/contract.ts";
import type { ProgramWorld } from "./programs/part.ts";
import { type Program, playing } from "./programs/program.ts";

interface Plan {
  readonly runId: string;
  readonly contract: ProgramContract;
  readonly program: Program;
  /** Answers a stored text as it was before it went to a store. */
  readonly textOf: (text: string) => string;
}

/** Nothing of a history needs the world outside, and what is no step comes at once. */
const stillWorld: ProgramWorld = {
  onBody: () => {},
  nextTry: () => 1,
  die: () => new Promise(() => {}),
  foreign: async () => {},
  beckon: () => {},
  invite: () => {},
};

/** Answers the trails of the cleanups that the handler had entered and not left. */
export async function openCleanups(pool: Pool, { runId, contract, program, textOf }: Plan): Promise<readonly string[]> {
  const { rows } = await pool.query<{ run: WireRun; epoch: number; records: readonly WireRecord[] | null }>(
    `select case when s.epoch = 0 then layover.read_run(s.run_id) else layover.read_epoch(s.run_id, s.epoch) end as run, s.epoch,
        layover.read_records(s.run_id, s.epoch, 0, s.last_position, null) as records
       from layover.run_state s where s.run_id = $1`,
    [runId],
  );
  const [row] = rows;
  if (row === undefined) throw new Error(`${runId} is not there`);
  const entered = new Set<string>();
  const workflow = contract.handler(playing(program, stillWorld, entered));
  const { createdAt, startsAt } = row.run;
  const segments = new Segments(
    row.run.segments ?? [{ from: 0, at: startsAt ?? createdAt, run: runId, epoch: row.epoch }],
  );
  const execution = new Execution({ atRest: macrotask, beginsAt: segments.at(0).at, runId, segments });
  const loaded = new LoadedRun({ runId, epoch: row.epoch, workflow, execution, segments, handedPosition: 0, bytes: 0 });
  const step = makeStep({
    execution,
    seed: (text) => loaded.seed(text),
    keySeed: (text, recordedAt) => loaded.keySeed(text, recordedAt),
    knownRun: (made) => segments.knownRun(made),
    callbackEpoch: () => undefined,
    encodeInput: async () => "0null",
    sealCallback: () => ({ url: "https://example.com/", token: "token" }),
    say: () => {},
    isPatched: () => true,
    parseStatus: (value) => value,
    stepTimeoutMs: 60_000,
    digest: digestOf,
    signals: Object.keys(contract.signals),
    callbacks: Object.keys(contract.callbacks),
  });
  const run = {
    ...{ runId, id: undefined, workflow: contract.name, version: contract.version },
    ...{ parentRunId: undefined, tags: {}, createdAt: new Date(createdAt) },
  };
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  await execution.begin(() => workflow.handle({ input: undefined, step, run, log }));
  const records = (row.records ?? []).map(
    ([kind, path, occurrence, isFailure, value, ...rest]): WireRecord => [
      ...([kind, path, occurrence, isFailure] as const),
      value === null ? null : textOf(value),
      ...rest,
    ],
  );
  await loaded.replay(records, macrotask);
  if (execution.divergence !== undefined)
    throw new Error(`its history is not that of its code: ${execution.divergence}`);
  return [...entered];
}

function macrotask(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
