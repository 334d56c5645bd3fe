/**
 * What a cron trigger does each minute if Durable Objects keep the alarms. It asks only them whether a tick is needed
 * that no alarm brings: for a minute that should have rung a while ago, for a new deployment, and rarely without a
 * reason (a sweep, which reports an error if it finds anything). So an idle minute sends no SQL.
 */
import { sweepFound, type Tell } from "../../../engine/events.ts";
import type { AlarmShards } from "./alarm-shards.ts";
import type { AlarmState, Code } from "./minutes.ts";

export interface WatchOptions {
  readonly shards: Pick<AlarmShards, "states" | "note">;
  readonly code: Code;
  /** Undefined: no sweeps. */
  readonly sweepMs: number | undefined;
  /**
   * Ticks. `isWhole`: everything that was dispatched was taken. Rejects if the tick has not ended well. `readyUntil`: as for
   * the engine's tick.
   */
  readonly tick: (readyUntil: number) => Promise<{ readonly due: number; readonly isWhole: boolean }>;
  readonly tell: Tell;
}

export async function watch({ shards, code, sweepMs, tick, tell }: WatchOptions): Promise<void> {
  const states = await shards.states();
  // Each object is told, since each may ring with other code. In a gradual deployment two deployments are known, and
  // neither is new.
  const isKnown = (state: AlarmState) => state.live.some(({ id }) => id === code.id);
  const isNew = !states.every(isKnown);
  // While minutes ring again and again, each tick finds what a sweep would find. The first object keeps the sweep's time.
  const [{ now, sweptAt } = { now: 0, sweptAt: 0 }] = states;
  const isQuiet = states.every((state) => state.isQuiet);
  const isSweep = isQuiet && sweepMs !== undefined && now - (sweptAt ?? 0) >= sweepMs;
  if (!isNew && !isSweep && !states.some(({ isOverdue }) => isOverdue)) return;
  const { due, isWhole } = await tick(Math.max(...states.map(({ readyUntil = 0 }) => readyUntil)));
  if (isSweep && !isNew && due > 0) tell(sweepFound(due));
  for (const [shard, state] of states.entries()) {
    const isNoted = isKnown(state) || !isWhole;
    const note = {
      ...(state.isOverdue && { through: state.now }),
      ...(!isNoted && { deployed: code }),
      ...(shard === 0 && (isNew || isSweep) && { sweptAt: state.now }),
    };
    if (Object.keys(note).length > 0) await shards.note(shard, note);
  }
}
