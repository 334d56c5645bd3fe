/** Replays a run's whole history on its code, far from any engine: it must end as it ended. */

import type { Workflow } from "layover";
import { decode } from "../../src/core/codec/codec.ts";
import { Registry } from "../../src/engine/registry.ts";
import { loadRun } from "../../src/engine/replay/load-run.ts";
import { describeEnd } from "../../src/engine/turn/ending.ts";
import { makeCalls } from "../../src/postgres/calls.ts";
import type { WireRecord, WireRun } from "../../src/postgres/wire.ts";
import { seal } from "./process.ts";
import type { World } from "./world.ts";

interface StoredRun {
  readonly run: WireRun;
  readonly records: readonly WireRecord[] | null;
  readonly epoch: number;
  readonly status: string;
  readonly value: string;
}

export interface End {
  readonly status: string;
  /** The result; of an error, its name and message. */
  readonly value: unknown;
}

/** Opens what is encrypted, where `TEST_ENCRYPTED` has it so. */
async function opened({ database, namespace }: World, runId: string, stored: StoredRun): Promise<StoredRun> {
  const { sealing } = database.query;
  if (sealing === undefined) return stored;
  const claim = { namespace, turns: [{ runId }] };
  const { turns } = await sealing.open("claim_turns", claim, { turns: [stored] });
  const { result } = await sealing.open("get_run", { namespace }, { result: stored.value });
  return { ...stored, ...turns[0], value: result };
}

/** How the run ended, and how it ends when it is replayed. */
export async function endings(world: World, workflow: Workflow, runId: string): Promise<{ first: End; replayed: End }> {
  const { rows } = await world.database.pool.query<StoredRun>(storedRun, [runId]);
  const [found] = rows;
  if (found === undefined) throw new Error(`there is no run ${runId}`);
  const { run, records, epoch, status, value } = await opened(world, runId, found);
  const calls = makeCalls({ query: world.database.query, namespace: world.namespace, alarm: async () => {} });
  const options = { calls, dispatch: async () => {}, workflows: [workflow], sealCallback: seal };
  const loaded = await loadRun(options, new Registry([workflow]), workflow, {
    runId,
    epoch,
    handedPosition: Number.POSITIVE_INFINITY,
    run,
  });
  await loaded.replay(records ?? [], async () => {});
  const { divergence, outcome } = loaded.execution;
  if (divergence !== undefined) throw new Error(`the replay diverged: ${divergence}`);
  if (outcome === undefined) throw new Error("the replay did not end");
  const replayed = await describeEnd(loaded);
  return { first: endOf(status, value), replayed: endOf(replayed.next, replayed.value) };
}

function endOf(status: string, text: string): End {
  const value = decode(text);
  if (status === "completed") return { status, value };
  return { status, value: `${Reflect.get(Object(value), "name")}: ${Reflect.get(Object(value), "message")}` };
}

const storedRun = `
  select case when s.epoch = 0 then layover.read_run(s.run_id) else layover.read_epoch(s.run_id, s.epoch) end as run,
      layover.read_records(s.run_id, s.epoch, 0, s.last_position, null) as records,
      s.epoch, s.status, coalesce(s.result, s.error) as value
    from layover.run_state s where s.run_id = $1`;
