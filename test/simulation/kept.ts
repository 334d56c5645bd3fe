/**
 * What must hold of signals that are kept for runs: an alarm stands for each, its run gets it soon, and gets it once. If no run takes it,
 * its delivery says why.
 */
import type pg from "pg";
import { decode } from "../../src/core/codec/codec.ts";
import { objection } from "../engine/watch.ts";
import type { Prospect } from "./rules.ts";
import { userIdOf } from "./run-ids.ts";
import { opening } from "./scenario.ts";
import { type Delivered, webhook } from "./senders.ts";
import { isOver, type RunRows, type Snapshot } from "./snapshot.ts";

/**
 * How long a signal may be kept beside a run that has begun, in milliseconds. Its motion minute is at most two minutes ahead, and an alarm
 * rings within two more. The platform may be late by another two. A transaction may take half a minute to its COMMIT.
 */
const longestKeptMs = 390_000;

export class KeptRules {
  /** When each signal was kept, and each run began its first turn, as far as anybody saw. By delivery, and by user's id. */
  readonly #keptAt = new Map<string, number>();
  readonly #begunAt = new Map<string, number>();

  /** Answers everything that is wrong. */
  *check({ kept, runs }: Pick<Snapshot, "kept" | "runs">, prospect: Prospect): Generator<string> {
    const { now, calmAt, steppedMs, lateMs, isBeginning } = prospect;
    const mostMs = Math.max(longestKeptMs, prospect.longestWaitMs(0)) + steppedMs + lateMs;
    for (const { runId, token, turn } of runs) {
      const userId = userIdOf(runId);
      if ((token !== null || turn > 1) && !this.#begunAt.has(userId)) this.#begunAt.set(userId, now);
    }
    for (const { key, delivery, due } of kept) {
      const keptAt = this.#keptAt.get(delivery) ?? now;
      this.#keptAt.set(delivery, keptAt);
      const wrong = isBeginning
        ? undefined
        : objection({ due, claimableAt: null, dispatches: 0 }, { ...prospect, rungInVainAt: undefined });
      if (wrong !== undefined) yield `the wake rule does not hold for what is kept of ${delivery}: ${wrong}`;
      const run = runs.find(({ runId }) => userIdOf(runId) === key);
      const begunAt = this.#begunAt.get(key);
      if (run === undefined || begunAt === undefined || isOver(run)) continue;
      const waitedMs = now - Math.max(keptAt, begunAt, calmAt);
      if (waitedMs > mostMs) yield `${delivery} is kept still, though its run began ${waitedMs / 1_000} s ago`;
    }
  }
}

/** Answers the letters that came twice to a run. */
export function* cameTwice({ signals }: RunRows): Generator<string> {
  const payloads = signals.map(({ payload }) => payload);
  const again = payloads.filter((payload, index) => payloads.indexOf(payload) < index);
  for (const payload of again.map((text) => decode(text)))
    if (Number(payload) < opening) yield `the signal ${payload} came twice`;
}

interface DeliveryRow {
  readonly id: string;
  readonly outcome: "done" | "refused" | "failed" | "expired";
  readonly reason: string | null;
  readonly decidedAt: number;
  readonly isKept: boolean;
  /** When its run was started. Null: it is not there. */
  readonly startedAt: number | null;
}

export interface KeptCase {
  readonly delivered: readonly Delivered[];
  readonly rowsOf: (runId: string) => RunRows | undefined;
  readonly mayBeDeleted: (runId: string) => boolean;
}

/** Answers what is wrong of deliveries when nothing is left to happen. */
export async function judgeDeliveries(pool: pg.Pool, { delivered, ...world }: KeptCase): Promise<readonly string[]> {
  if (delivered.length === 0) return [];
  const text = `
    select j.id, j.outcome, j.reason, layover.to_ms(j.decided_at)::float8 as "decidedAt",
        exists (select from layover.kept_signal u where u.webhook = j.webhook and u.delivery = j.id) as "isKept",
        (select layover.to_ms(r.created_at)::float8 from layover.run r where j.id like '% to ' || r.id) as "startedAt"
      from layover.delivery j where j.webhook = $1`;
  const { rows } = await pool.query<DeliveryRow>(text, [webhook]);
  return delivered.flatMap((each) => {
    const row = rows.find(({ id }) => id === each.id);
    return [...wrongDelivery(each, row, world)].map((wrong) => `of the delivery of ${each.id}: ${wrong}`);
  });
}

/** The clocks of the database and of whoever starts a run may be so far apart. */
const slackMs = 900_000;

function* wrongDelivery(
  { runId, name, payload, isTold }: Delivered,
  row: DeliveryRow | undefined,
  { rowsOf, mayBeDeleted }: Omit<KeptCase, "delivered">,
): Generator<string> {
  const run = rowsOf(runId);
  const isThere = run?.signals.some((signal) => signal.name === name && decode(signal.payload) === payload) ?? false;
  if (row === undefined) {
    if (isTold) yield "it was acknowledged, and is not there";
    if (isThere) yield "its signal came, and it is not there";
    return;
  }
  const { outcome, reason, decidedAt, isKept, startedAt } = row;
  if (isKept) yield "its signal is kept still at the end";
  if (outcome === "done" && !isThere && !isKept && !(run === undefined && mayBeDeleted(runId)))
    yield "it is done, and its signal is lost";
  if (outcome !== "done" && isThere) yield `its signal came, and it is ${outcome}: ${reason}`;
  if (outcome === "failed") yield `it failed: ${reason}`;
  const mayRefuse = run === undefined ? mayBeDeleted(runId) : isOver(run) || run.epoch > 0 || run.closed.includes(name);
  if (outcome === "refused" && !mayRefuse) yield `it was refused: ${reason}`;
  if (outcome === "expired" && startedAt !== null && startedAt < decidedAt - slackMs)
    yield `it has expired, and its run was started ${(decidedAt - startedAt) / 1_000} s before`;
}
