/**
 * The database as it fails in production, for seconds or minutes: it is gone, silent, read-only or full, or its clock
 * is set back. The outages come one after the other. After each of them every run that was under way must move again
 * within a minute, and be over within three times the longest life of a run before the first outage. Runs that wait
 * for an instant of the database's clock are left out: once the clock was set back, that instant is five minutes
 * further away.
 *
 * The minute is no part of the wake rule, which gives a run in motion up to four (the motion minute, and an alarm that
 * rings late). It comes from the processes: what has failed has a process tick again, 5 s later at most if no answer came,
 * else after about as long as the outage took (`ticker.ts`). That tick looks ahead at all that is due within three minutes.
 * So a run that stands still for longer is one that nobody has missed: its turn is claimed, and nobody carries it out.
 *
 * While nothing is wrong, no lease may run out: no process dies here.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Chance } from "../engine/chance.ts";
import { readNow } from "./schedule-log.ts";
import type { SetBack } from "./schedule-verdict.ts";
import type { Site } from "./site.ts";
import type { Watcher } from "./watcher.ts";

export interface OutagesOptions {
  readonly seed: number;
  /** How long things go wrong, in milliseconds. They go on for longer until each kind of outage has happened. */
  readonly chaosMs: number;
  /** Whether the longer outage takes three minutes instead of 30 seconds. */
  readonly areLong: boolean;
  /**
   * A folder on a small file system, which Postgres may fill: the tables are there. Default: a trigger refuses
   * inserts.
   */
  readonly smallDisk?: string | undefined;
}

const kinds = ["gone", "gone for long", "silent", "read-only", "full", "clock back"] as const;
type Kind = (typeof kinds)[number];

const shortMs = 3_000;
const longMs = 30_000;
const longestMs = 180_000;
/** Longer than the 15 s after which a connection that does not answer is ended. */
const silentMs = 20_000;
const refusingMs = 10_000;
const stepMs = 300_000;
/** Limit for each run to move again, in milliseconds from the return of the database. */
const motionMs = 60_000;
/** Limit for the runs under way to be over, as a multiple of the longest life without an outage. */
const mostDrain = 3;
/** How long runs are watched before the first outage. */
const undisturbedMs = 20_000;
const lookMs = 200;
/** How long after its end a lease may still be renewed, on a slow machine. */
const graceMs = 5_000;
const calmMs = 4_000;

export class Outages {
  readonly struck: Record<Kind, number> = {
    gone: 0,
    "gone for long": 0,
    silent: 0,
    "read-only": 0,
    full: 0,
    "clock back": 0,
  };
  /** How long it took after each outage until all runs had moved again, in milliseconds. */
  readonly recoveries: { readonly after: Kind; readonly ms: number }[] = [];
  /** How long it took after each outage until all runs were over that had been under way, in milliseconds. */
  readonly drains: { readonly after: Kind; readonly ms: number }[] = [];
  /** The longest life of a run before the first outage, in milliseconds. */
  undisturbedMs = 0;
  setBack: SetBack | undefined;
  readonly failures: unknown[] = [];
  readonly deploys = 0;
  readonly cuts = {};
  readonly cutCount = 0;
  readonly #site: Site;
  readonly #options: OutagesOptions;
  readonly #watcher: Watcher;

  constructor(site: Site, options: OutagesOptions, watcher: Watcher) {
    this.#site = site;
    this.#options = options;
    this.#watcher = watcher;
  }

  /** Makes one outage after the other. Resolves when the time is over and everything is up again. */
  async wreak(): Promise<void> {
    const { seed, chaosMs } = this.#options;
    const chance = new Chance(seed, 0);
    const endsAt = performance.now() + chaosMs;
    await delay(undisturbedMs);
    this.undisturbedMs = Math.round(Math.max(0, ...this.#watcher.lives));
    await this.#findAbandoned();
    let left: readonly Kind[] = [];
    for (let isComplete = false; !isComplete || performance.now() < endsAt; isComplete ||= left.length === 0) {
      if (left.length === 0) left = kinds.filter((kind) => kind !== "clock back");
      const kind = chance.pick(left);
      left = left.filter((other) => other !== kind);
      await delay(calmMs + chance.below(calmMs));
      await this.#endure(kind);
    }
    // Last and once: runs that wait for the clock do nothing for five minutes.
    await this.#endure("clock back");
  }

  async #endure(kind: Kind): Promise<void> {
    this.struck[kind] += 1;
    await this.#strike(kind);
    await this.#untilOver(kind);
  }

  async #strike(kind: Kind): Promise<void> {
    switch (kind) {
      case "gone":
        return await this.#site.interruptPostgres("stop", shortMs);
      case "gone for long":
        return await this.#site.interruptPostgres("crash", this.#options.areLong ? longestMs : longMs);
      case "silent":
        for (const cutter of this.#site.cutters) cutter.silence();
        await delay(silentMs);
        for (const cutter of this.#site.cutters) cutter.speak();
        return;
      case "read-only":
        await this.#say("alter system set default_transaction_read_only = on", "select pg_reload_conf()");
        await delay(refusingMs);
        await this.#say("alter system reset default_transaction_read_only", "select pg_reload_conf()");
        return;
      case "full":
        return await (this.#options.smallDisk === undefined
          ? this.#refuseInserts()
          : this.#fill(this.#options.smallDisk));
      case "clock back":
        return await this.#setClockBack();
    }
  }

  async #setClockBack(): Promise<void> {
    // A call that comes after the step may come before its answer.
    this.setBack = { at: (await readNow(this.#site.pool)) - stepMs, byMs: stepMs };
    await this.#say(
      `create or replace function layover.now() returns timestamptz language sql volatile
         as $$ select date_trunc('milliseconds', clock_timestamp()) - interval '${stepMs} milliseconds' $$`,
    );
  }

  async #refuseInserts(): Promise<void> {
    await this.#say(isFull, ...tables.map((table) => `create trigger full_disk before insert on ${table} ${refuse}`));
    await delay(refusingMs);
    await this.#say(...tables.map((table) => `drop trigger full_disk on ${table}`));
  }

  /** Has Postgres write a file into the folder until nothing more fits. */
  async #fill(folder: string): Promise<void> {
    const write = (what: string) => this.#site.pool.query(`copy (${what}) to '${folder}/filling'`);
    const error: unknown = await write("select repeat('x', 1000000) from generate_series(1, 100000)").catch(
      (cause) => cause,
    );
    if (!(error instanceof Error) || !/No space left/.test(error.message))
      throw new Error(`${folder} is on no small file system: 100 GB fitted`, { cause: error });
    await delay(refusingMs);
    await write("select 1 where false");
  }

  /** Finds turns whose leases have run out, and whose process is alive. */
  async #findAbandoned(): Promise<void> {
    const { rows } = await this.#site.pool.query<Standing>(
      `${standing} where s.leased_until < layover.now() - $1::interval`,
      [`${graceMs} milliseconds`],
    );
    for (const each of rows) this.failures.push(new Error(`before any outage nobody carries out ${describe(each)}`));
  }

  async #describeAll(runIds: readonly string[]): Promise<string> {
    const { rows } = await this.#site.pool.query<Standing>(`${standing} where s.run_id = any ($1)`, [runIds]);
    return rows.map(describe).join("; ");
  }

  async #awakeOf(runIds: readonly string[]): Promise<readonly string[]> {
    const { rows } = await this.#site.pool.query<{ runId: string }>(awake, [runIds]);
    return rows.map(({ runId }) => runId);
  }

  async #say(...statements: readonly string[]): Promise<void> {
    for (const statement of statements) await this.#site.pool.query(statement);
  }

  /**
   * Waits until each run that is under way now has moved, and then until it is over. Notes where that takes too long.
   */
  async #untilOver(after: Kind): Promise<void> {
    const since = performance.now();
    const before = this.#watcher.underWay;
    const until = async (isLeft: (runId: string, records: number) => boolean, limitMs: number, what: string) => {
      for (;;) {
        const ms = Math.round(performance.now() - since);
        const left = [...before].filter(([runId, records]) => isLeft(runId, records)).map(([runId]) => runId);
        const waiting = left.length === 0 ? [] : await this.#awakeOf(left);
        if (waiting.length === 0) return ms;
        if (ms > limitMs) {
          const runs = await this.#describeAll(waiting);
          this.failures.push(
            new Error(`${ms} ms after the database was ${after}, ${waiting.length} runs ${what}: ${runs}`),
          );
          return ms;
        }
        await delay(lookMs);
      }
    };
    const hasNotMoved = (runId: string, records: number) => this.#watcher.underWay.get(runId) === records;
    this.recoveries.push({ after, ms: await until(hasNotMoved, motionMs, "stand still") });
    const isUnderWay = (runId: string) => this.#watcher.underWay.has(runId);
    const limitMs = mostDrain * this.undisturbedMs;
    this.drains.push({ after, ms: await until(isUnderWay, limitMs, "are not over") });
  }
}

/** Where a run stands. Times are of the database's clock. */
interface Standing {
  readonly runId: string;
  readonly status: string;
  readonly turn: number;
  readonly leasedUntil: string | null;
  readonly readyAt: string | null;
  readonly dueAt: string | null;
  readonly now: string;
}

const standing = `
  select s.run_id as "runId", s.status, s.turn, s.leased_until::text as "leasedUntil", s.ready_at::text as "readyAt",
      s.due_at::text as "dueAt", layover.now()::text as now from layover.run_state s`;

function describe({ runId, status, turn, leasedUntil, readyAt, dueAt, now }: Standing): string {
  return `turn ${turn} of run ${runId} (${status}, leased until ${leasedUntil}, ready at ${readyAt}, due at ${dueAt}, now ${now})`;
}

/** Selects the runs that do not wait for an instant which the step of the clock has put off. */
const awake = `
  select s.run_id as "runId" from layover.run_state s
   where s.run_id = any ($1) and s.ended_at is null and coalesce(least(coalesce(s.leased_until, s.ready_at), (
       select min(coalesce(b.leased_until, b.ready_at)) from layover.pending b
        where b.run_id = s.run_id and b.kind = 'branch' and b.position is null and not b.is_queued and not b.is_released
     )), '-infinity') < layover.now() + interval '10 seconds'`;

const tables = ["layover.run", "layover.record", "layover.pending", "layover.signal", "chaos.effect"];
const refuse = "for each statement execute function chaos.is_full()";
const isFull = `create or replace function chaos.is_full() returns trigger language plpgsql as $$
  begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`;
