/**
 * A stage for races. Each session is a connection of its own that keeps its locks until it is told to commit, so
 * another one runs into them at a known place; who waits for whom is read from Postgres, never guessed by time.
 *
 *   const [parked, sent] = await stage.collide({ first: (s) => run.park(s), second: (s) => run.signal(s, "address") });
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "pg";
import { afterEach, beforeEach, expect } from "vitest";
import { z } from "zod";
import type * as wire from "../../src/postgres/wire.ts";
import type * as operations from "../../src/postgres/wire-operations.ts";
import type * as operator from "../../src/postgres/wire-operator.ts";
import type * as replays from "../../src/postgres/wire-replay.ts";
import type * as scheduler from "../../src/postgres/wire-scheduler.ts";
import type * as schedules from "../../src/postgres/wire-schedules.ts";
import type * as verbs from "../../src/postgres/wire-verbs.ts";
import type * as views from "../../src/postgres/wire-views.ts";
import type * as webhooks from "../../src/postgres/wire-webhooks.ts";
import type { Clock } from "../postgres/clock.ts";
import type { SuiteDatabase } from "../postgres/database.ts";

/** What each function of the state machine answers. */
export interface Answers {
  adopt_environment: { readonly outcome: "adopted" };
  start_run: verbs.StartAnswer;
  claim_turns: wire.ClaimAnswer;
  read_page: wire.PageAnswer;
  read_ends: wire.EndsAnswer;
  read_replay: replays.ReplayAnswer;
  finish_turns: { readonly now: number; readonly turns: readonly wire.FinishAnswer[] };
  finish_once: wire.FinishAnswer;
  renew_leases: { readonly now: number; readonly turns: readonly wire.RenewAnswer[] };
  return_leases: { readonly now: number; readonly turns: readonly wire.ReturnAnswer[] };
  void_leases: { readonly outcome: "voided" };
  list_due: scheduler.DueAnswer;
  move_due: scheduler.MoveAnswer & { readonly moved: number };
  prune_runs: scheduler.PruneAnswer;
  send_signal: verbs.SignalAnswer;
  signal_with_start: verbs.SignalWithStartAnswer;
  pause_run: operations.OperationAnswer;
  resume_run: operations.OperationAnswer;
  cancel_run: operations.OperationAnswer;
  terminate_run: operations.OperationAnswer;
  export_run: replays.ExportAnswer;
  operate_runs: operations.OperateRunsAnswer;
  delete_run: operations.OperationAnswer;
  upgrade_run: replays.UpgradeAnswer | verbs.Unknown;
  read_mail: replays.MailPage | verbs.Unknown;
  fork_run: operations.RepairAnswer;
  pause_workflow: operations.WorkflowAnswer;
  resume_workflow: operations.WorkflowAnswer;
  create_schedule: schedules.CreateScheduleAnswer;
  list_schedules: schedules.ListSchedulesAnswer;
  get_schedule: schedules.WireSchedule & { readonly dueAt: number | null };
  pause_schedule: schedules.ScheduleAnswer;
  resume_schedule: schedules.ScheduleAnswer;
  trigger_schedule: schedules.ScheduleAnswer;
  delete_schedule: schedules.ScheduleAnswer;
  adopt_schedule: schedules.ScheduleAnswer;
  fire_schedules: scheduler.FireAnswer;
  note_deployment: scheduler.NoteAnswer;
  retry_run: operations.RepairAnswer;
  restart_run: operations.RepairAnswer;
  answer_callback: verbs.CallbackAnswer;
  get_run: views.WireRunView | verbs.Unknown;
  list_runs: views.ListAnswer;
  get_history: views.WireHistory | verbs.Unknown;
  create_key: { readonly outcome: "created" | "taken" };
  revoke_key: operator.RevokeAnswer;
  note_process: scheduler.ProcessAnswer;
  receive_delivery: webhooks.DeliveryAnswer;
  get_delivery: webhooks.WireDelivery | verbs.Unknown;
  list_deliveries: webhooks.ListDeliveriesAnswer;
  send_kept_signals: webhooks.KeptAnswer;
  hold_values: { readonly outcome: "held" };
  sweep_values: scheduler.SweepAnswer;
  forget_values: { readonly outcome: "forgotten" };
}

export type Row = Readonly<Record<string, unknown>>;

const patienceMs = 10_000;

/** What nobody awaits yet: if it is rejected, it keeps that until somebody does. */
export function kept<Result>(work: Promise<Result>): Promise<Result> {
  work.catch(() => {});
  return work;
}

export class Session {
  readonly name: string;
  readonly pid: number;
  readonly #client: Client;
  readonly #stage: Stage;
  #isAtWork = false;

  constructor(stage: Stage, name: string, client: Client, pid: number) {
    this.#stage = stage;
    this.name = name;
    this.#client = client;
    this.pid = pid;
  }

  async begin(isolation = "read committed"): Promise<void> {
    await this.query(`begin isolation level ${isolation}`);
  }

  async commit(): Promise<void> {
    await this.query("commit");
  }

  async rollback(): Promise<void> {
    await this.query("rollback");
  }

  async end(how: "commit" | "rollback"): Promise<void> {
    await this.query(how);
  }

  /** Does not have to be awaited at once. */
  query(text: string, parameters: readonly unknown[] = []): Promise<readonly Row[]> {
    return kept(this.#send(text, parameters));
  }

  /** One call of the state machine, in the default namespace. Does not have to be awaited at once. */
  call<Name extends keyof Answers>(name: Name, parameter: object): Promise<Answers[Name]> {
    const text = `select layover.${name}($1) as answer`;
    return kept(
      // The one place that trusts the shape of an answer: it is what our own function of that name returns.
      this.#send(text, [JSON.stringify({ namespace: "default", ...parameter })]).then(
        ([row]) => row?.["answer"] as Answers[Name],
      ),
    );
  }

  /** Resolves once this session waits for a lock that the other one holds, or waits for ahead of it. */
  async untilBlocked(by: Session): Promise<void> {
    const giveUpAt = performance.now() + patienceMs;
    for (;;) {
      if (!this.#isAtWork) throw new Error(`The session "${this.name}" was to wait for "${by.name}", but is through.`);
      const [found] = await this.#stage.look(
        `select a.wait_event_type, a.wait_event, pg_blocking_pids(a.pid) as blockers
           from pg_stat_activity a where a.pid = $1`,
        [this.pid],
      );
      const blockers = found?.["blockers"];
      if (found?.["wait_event_type"] === "Lock" && Array.isArray(blockers) && blockers.includes(by.pid)) return;
      if (performance.now() > giveUpAt) {
        throw new Error(`The session "${this.name}" does not wait for "${by.name}": ${JSON.stringify(found)}`);
      }
      await delay(2);
    }
  }

  async close(): Promise<void> {
    await this.#client.end();
  }

  async #send(text: string, parameters: readonly unknown[]): Promise<readonly Row[]> {
    this.#isAtWork = true;
    try {
      const { rows } = await this.#client.query(text, [...parameters]);
      return rows;
    } catch (error) {
      // Postgres tells of an error before it gives back the locks. It answers this statement after that.
      await this.#client.query("").catch(() => {});
      throw error;
    } finally {
      this.#isAtWork = false;
    }
  }
}

export interface StageOptions {
  readonly isInRealTime?: boolean;
  /** Rules of violations.sql that rows break which the suite makes by hand. Default: none. */
  readonly breaks?: readonly string[];
}

interface Collision<First, Second> {
  readonly first: (session: Session) => Promise<First>;
  readonly second: (session: Session) => Promise<Second>;
  /** How the first one's transaction ends. Default: commit. */
  readonly ends?: "commit" | "rollback";
  /** Done while the second one waits. */
  readonly meanwhile?: () => Promise<unknown>;
}

export class Stage {
  readonly #database: SuiteDatabase;
  #clock: Clock | undefined;
  #onlooker: Session | undefined;

  constructor(database: SuiteDatabase) {
    this.#database = database;
  }

  /** It is noon on 1 January 2026 until a test turns it. */
  get clock(): Clock {
    if (this.#clock === undefined)
      throw new Error("The clock stands still within tests only, and not in those in real time.");
    return this.#clock;
  }

  /** Whose every call is committed at once. */
  get onlooker(): Session {
    if (this.#onlooker === undefined) throw new Error("The stage is open within tests only.");
    return this.#onlooker;
  }

  async session(name: string): Promise<Session> {
    const client = await this.#database.session();
    const { rows } = await client.query(
      "select pg_backend_pid() as pid, set_config('statement_timeout', '20s', false), set_config('application_name', $1, false)",
      [name],
    );
    return new Session(this, name, client, Number(rows[0]?.["pid"]));
  }

  /** Looks at the rows themselves, past the functions. */
  async look(text: string, parameters: unknown[] = []): Promise<readonly Row[]> {
    return (await this.#database.pool.query(text, parameters)).rows;
  }

  /**
   * The first session does its part and keeps its locks; the second runs into them; then the first ends its
   * transaction. Answers what both were told.
   */
  async collide<First, Second>(collision: Collision<First, Second>): Promise<readonly [First, Second]> {
    const first = await this.session("first");
    const second = await this.session("second");
    await first.begin();
    const one = await collision.first(first);
    const other = kept(collision.second(second));
    await second.untilBlocked(first);
    await collision.meanwhile?.();
    await first.end(collision.ends ?? "commit");
    return [one, await other];
  }

  /**
   * Holds the table in a way that stops whoever writes to it (`exclusive`), or even reads it (`access exclusive`): so a
   * function stops exactly before the first of its statements that does. Committing lets them go on.
   */
  async gate(table: string, mode: "exclusive" | "access exclusive" = "exclusive"): Promise<Session> {
    const gate = await this.session(`gate of ${table}`);
    await gate.begin();
    await gate.query(`lock table ${table} in ${mode} mode`);
    return gate;
  }

  /** Does this as somebody who keeps the locks until told to let go. */
  async hold(text: string, parameters: readonly unknown[] = []): Promise<Session> {
    const holder = await this.session("holder");
    await holder.begin();
    await holder.query(text, parameters);
    return holder;
  }

  async open({ isInRealTime = false } = {}): Promise<void> {
    if (!isInRealTime) this.#clock = await this.#database.turnClock();
    this.#onlooker = await this.session("onlooker");
  }

  /** What no row may be, whatever happened: the rules that some break. */
  async violations(): Promise<readonly string[]> {
    const runs = "array(select s.run_id from layover.run_state s)";
    const [row] = await this.look(
      `select layover_test.violations(${runs}, layover.now() + interval '2 minutes') as rules`,
    );
    return z.array(z.string()).parse(row?.["rules"]);
  }

  close(): void {
    this.#clock = undefined;
    this.#onlooker = undefined;
  }
}

/** Call it in a suite that has a database for each test. After each test no row may break a rule. */
export function stageOn(database: SuiteDatabase, options: StageOptions = {}): Stage {
  const { breaks = [] } = options;
  const stage = new Stage(database);
  beforeEach(async () => await stage.open(options));
  afterEach(async ({ task }) => {
    try {
      if (task.result?.state === "fail") return;
      const rules = await stage.violations();
      expect(rules.filter((rule) => !breaks.includes(rule))).toEqual([]);
    } finally {
      stage.close();
    }
  });
  return stage;
}
