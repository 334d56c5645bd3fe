/**
 * One method per SQL function: the only SQL text in TypeScript.
 *
 * What every call that moves a run has in common is here, once: it is armed before it is sent (so that no commit is
 * without an alarm), it names the instant after which it must not take effect, and it is sent again when nobody knows
 * what became of it (every function is repeatable).
 */
import { type Alarm, type HostClock, type Query, QueryError } from "../core/ports.ts";
import { pause } from "../core/waits.ts";
import { callMs, latestCommit } from "../core/waking.ts";
import { Alarms } from "./alarms.ts";
import { consequenceOf } from "./consequence.ts";
import { DatabaseClock } from "./database-clock.ts";
import { hostClock } from "./host-clock.ts";
import { checkFit, type KnownSchema, otherFunctions } from "./schema-fit.ts";
import type * as wire from "./wire.ts";
import type * as verbs from "./wire-verbs.ts";

const tooLate = "LO002";
/** The SQLSTATE of a call that relies on a process which is not listed any more. */
const rearm = "LO011";
const lastTry = 3;
/** How often a call is sent under one limit: 50, 200, 800 and 3,200 ms apart. */
const lastSend = 5;

export interface CallsOptions {
  readonly query: Query;
  readonly namespace: string;
  readonly alarm: Alarm;
  /** Whether the alarm rings at a pace of its own for ever, as a cron does, whatever is armed. Default: no. */
  readonly isBeat?: boolean | undefined;
  readonly host?: HostClock | undefined;
  /** What is known of the database's time already. Default: nothing, so the first call asks. */
  readonly clock?: DatabaseClock | undefined;
  /** Is told once if the database has functions of another release. */
  readonly report?: ((error: unknown, doing: string) => void) | undefined;
  /** The processes in which alarms ring. It is given where alarms are timers, which are gone with their process. */
  readonly ringers?: Ringers | undefined;
}

/** The processes in which an alarm rings. */
export interface Ringers {
  /** Ids of the processes in which these instants ring. */
  of(instants: readonly number[]): readonly string[];
  /** Lists this process anew, and arms all alarms in listed processes. It is called when a process is not listed. */
  rearm(): Promise<void>;
}

export class Calls {
  readonly clock: DatabaseClock;
  readonly alarms: Alarms;
  readonly #options: CallsOptions;
  readonly #query: Query;
  readonly #host: HostClock;
  /** The fields of every call. */
  readonly #common: { readonly namespace: string; readonly keyId?: string };

  constructor(options: CallsOptions, caller?: { readonly keyId: string; readonly alarms: Alarms }) {
    const { query, namespace, alarm, isBeat, host = hostClock, clock = new DatabaseClock(host) } = options;
    this.#options = options;
    this.#query = query;
    this.#host = host;
    this.#common = { namespace, ...(caller !== undefined && { keyId: caller.keyId }) };
    this.clock = clock;
    this.alarms = caller?.alarms ?? new Alarms({ alarm, clock, host, isBeat });
  }

  get endpoint(): string {
    return this.#query.endpoint;
  }

  /**
   * The calls of whoever has this API key: once it is revoked, each is refused (LO005) by the very statement that would
   * carry it out.
   */
  by(keyId: string): Calls {
    return new Calls({ ...this.#options, clock: this.clock }, { keyId, alarms: this.alarms });
  }

  /** Checks the API key, for a verb that sends no statement of its own. */
  async checkKey(): Promise<void> {
    if (this.#common.keyId !== undefined) await this.#call("check_key", {});
  }

  /** The database's time; asks for it if no answer has told it yet. */
  async now(): Promise<number> {
    if (!this.clock.isKnown) await this.#send("read_clock", undefined, Number.POSITIVE_INFINITY);
    return this.clock.now();
  }

  startRun(call: verbs.StartCall): Promise<verbs.StartAnswer> {
    // The run's timeout is armed by the turn that parks the run for longer.
    return this.#armedCall("start_run", { ...call, endpoint: this.endpoint }, (now) => [
      call.startAt ?? now + (call.delayMs ?? 0),
    ]);
  }

  /** Starts inside the caller's own transaction; armed for an instant beyond its COMMIT. */
  async startRunIn(
    transaction: Query,
    call: verbs.StartCall & { readonly commitWithinMs: number },
  ): Promise<verbs.StartAnswer> {
    const now = await this.now();
    const readyAt = Math.max(call.startAt ?? now + (call.delayMs ?? 0), latestCommit(now + call.commitWithinMs));
    const armed = await this.alarms.arm([readyAt]);
    const parameter = JSON.stringify({ ...this.#common, ...call, endpoint: this.endpoint, armed });
    return answerOf<verbs.StartAnswer>(await transaction("select layover.start_run($1) as answer", [parameter]));
  }

  claimTurns(call: wire.ClaimCall): Promise<wire.ClaimAnswer> {
    return this.#call("claim_turns", call);
  }

  /** Reads further records of a claimed run, whose claim answered only the first ones. */
  readPage(call: wire.PageCall): Promise<wire.PageAnswer> {
    return this.#call("read_page", call);
  }

  /** `wakeInstants`: instants for which the scheduler may have to look at one of these runs. */
  finishTurns(
    turns: readonly (Omit<wire.FinishRun, "armed"> | Omit<wire.FinishBranch, "armed">)[],
    wakeInstants: readonly number[],
    claim?: Omit<wire.ClaimCall, "turns">,
  ): Promise<{ readonly now: number; readonly turns: readonly wire.FinishAnswer[] }> {
    return this.#armed(
      () => wakeInstants,
      ({ armed, notAfter }) =>
        this.#send(
          "finish_turns",
          { ...claim, notAfter, ...this.#rings(armed), turns: turns.map((turn) => ({ ...turn, armed })) },
          notAfter,
        ),
    );
  }

  renewLeases(call: { readonly leaseMs: number; readonly turns: readonly wire.RenewTurn[] }): Promise<{
    readonly now: number;
    readonly turns: readonly wire.RenewAnswer[];
  }> {
    return this.#call("renew_leases", call);
  }

  /**
   * Gives back leases when a process ends, so that others need not wait until they are over. Only turns whose finish
   * was never sent may be given back.
   */
  returnLeases(turns: readonly wire.ReturnTurn[]): Promise<{
    readonly now: number;
    readonly turns: readonly wire.ReturnAnswer[];
  }> {
    return this.#call("return_leases", { turns });
  }

  voidLeases(): Promise<{ readonly outcome: "voided" }> {
    return this.#call("void_leases", {});
  }

  listDue(call: wire.DueCall): Promise<wire.DueAnswer> {
    return this.#call("list_due", { ...call, endpoint: this.endpoint });
  }

  /**
   * Moves due instants on. The new instants must be armed already. A run that was woken after it was listed is left
   * alone and counted. With `soonAt`, which must be armed too, such a run is moved there.
   */
  moveDue(call: wire.MoveCall): Promise<wire.MoveAnswer> {
    const instants = [
      ...call.moves.flatMap(({ dueAt }) => dueAt ?? []),
      ...(call.soonAt === undefined ? [] : [call.soonAt]),
    ];
    return this.#call("move_due", call, instants);
  }

  noteDeployment(call: wire.NoteCall): Promise<{ readonly outcome: "noted" | "wrong_environment" }> {
    return this.#call("note_deployment", { ...call, endpoint: this.endpoint });
  }

  /** Lists a process, and answers the others. */
  noteProcess(call: wire.ProcessCall): Promise<wire.ProcessAnswer> {
    return this.#call("note_process", { ...call, endpoint: this.endpoint });
  }

  pruneRuns(call: { readonly keepMs: number; readonly keepFailedMs: number; readonly limit: number }): Promise<{
    readonly pruned: number;
  }> {
    return this.#call("prune_runs", call);
  }

  adoptEnvironment(environment: string): Promise<{ readonly outcome: "adopted" }> {
    return this.#call("adopt_environment", { environment, endpoint: this.endpoint });
  }

  /**
   * Adds this address to those of the environment. `another_database`: the address is not known to lead to the
   * environment's database.
   */
  adoptAddress(environment: string): Promise<{ readonly outcome: "adopted" | "another_database" }> {
    return this.#call("adopt_environment", { environment, endpoint: this.endpoint, isAddress: true });
  }

  sendSignal(call: verbs.SignalCall): Promise<verbs.SignalAnswer> {
    return this.#armedCall("send_signal", { ...call, endpoint: this.endpoint }, () => []);
  }

  answerCallback(call: verbs.CallbackCall): Promise<verbs.CallbackAnswer> {
    return this.#armedCall("answer_callback", { ...call, endpoint: this.endpoint }, () => []);
  }

  readCallback(call: wire.Place & { readonly runId: string; readonly epoch: number }): Promise<verbs.CallbackState> {
    return this.#call("read_callback", call);
  }

  /** `longestInput`: in bytes; a longer one is left out. */
  getRun(key: verbs.RunKey & { readonly longestInput?: number }): Promise<verbs.WireRunView | verbs.Unknown> {
    return this.#call("get_run", key);
  }

  listRuns(call: verbs.ListCall): Promise<verbs.ListAnswer> {
    return this.#call("list_runs", call);
  }

  getHistory(
    call: verbs.RunKey & { readonly after?: number; readonly limit?: number },
  ): Promise<verbs.WireHistory | verbs.Unknown> {
    return this.#call("get_history", call);
  }

  /** Writes down an API key that was just made. `taken`: another valid key has this name. */
  createKey(call: verbs.KeyCall): Promise<{ readonly outcome: "created" | "taken" }> {
    return this.#call("create_key", call);
  }

  listKeys(): Promise<{ readonly now: number; readonly keys: readonly verbs.WireKey[] }> {
    return this.#call("list_keys", {});
  }

  revokeKey(key: { readonly keyId: string } | { readonly name: string }): Promise<verbs.RevokeAnswer> {
    return this.#call("revoke_key", key);
  }

  diagnose(): Promise<verbs.Diagnosis> {
    return this.#call("diagnose", {});
  }

  /** `armed`: the instants that the call relies on. */
  async #call<Answer>(name: string, call: object, armed: readonly number[] = []): Promise<Answer> {
    return this.#again(async () => {
      const notAfter = (await this.now()) + callMs;
      return this.#send<Answer>(name, { ...call, ...this.#rings(armed), notAfter }, notAfter);
    });
  }

  #armedCall<Answer>(name: string, call: object, wakeInstants: (now: number) => readonly number[]): Promise<Answer> {
    return this.#armed(wakeInstants, (terms) =>
      this.#send(name, { ...call, ...terms, ...this.#rings(terms.armed) }, terms.notAfter),
    );
  }

  #armed<Answer>(
    wakeInstants: (now: number) => readonly number[],
    send: (terms: { readonly armed: readonly number[]; readonly notAfter: number }) => Promise<Answer>,
  ): Promise<Answer> {
    return this.#again(async () => {
      const now = await this.now();
      const notAfter = now + callMs;
      return send({ armed: await this.alarms.armFor(notAfter, wakeInstants(now)), notAfter });
    });
  }

  #rings(armed: readonly number[]): { readonly rings?: readonly string[] } {
    const { ringers } = this.#options;
    return ringers === undefined || armed.length === 0 ? {} : { rings: ringers.of(armed) };
  }

  /**
   * Sends a call again, newly armed, if it came too late or relied on a process that is gone. Such a call took no
   * effect.
   */
  async #again<Answer>(attempt: () => Promise<Answer>): Promise<Answer> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await attempt();
      } catch (error) {
        const state = error instanceof QueryError ? error.sqlState : undefined;
        if (tries === lastTry || (state !== tooLate && state !== rearm)) throw error;
        if (state === rearm) await this.#options.ringers?.rearm();
        else await this.#send("read_clock", undefined, Number.POSITIVE_INFINITY);
      }
    }
  }

  /** Checks that this code fits the database. @throws LayoverError `wrong_schema` */
  #checkFit(schema: KnownSchema): void {
    checkFit(schema);
    const other = this.clock.isKnown ? undefined : otherFunctions(schema);
    if (other !== undefined) this.#options.report?.(other, "asking the database what it is");
  }

  async #send<Answer>(name: string, call: object | undefined, notAfter: number): Promise<Answer> {
    const text = call === undefined ? `select layover.${name}() as answer` : `select layover.${name}($1) as answer`;
    const parameters = call === undefined ? [] : [JSON.stringify({ ...this.#common, ...call })];
    const begun = this.#host.monotonic();
    for (let pauseMs = 50, tries = 1; ; pauseMs *= 4, tries += 1) {
      const sentAt = this.#host.monotonic();
      try {
        const answer = answerOf<Answer & KnownSchema & { readonly now?: number }>(await this.#query(text, parameters));
        // If this throws, the time stays unknown, so the next call asks again.
        if (name === "read_clock") this.#checkFit(answer);
        const isStep = answer.now !== undefined && this.clock.learn(answer.now, sentAt);
        if (isStep) await this.alarms.rearm().catch(() => {}); // an alarm that failed is forgotten, and armed when it is needed
        return answer;
      } catch (error) {
        const again = error instanceof QueryError ? consequenceOf(error).again : "never";
        const isOver = this.#host.monotonic() + pauseMs > begun + callMs;
        if (again === "never" || tries === lastSend || isOver) throw error;
        if (this.clock.isKnown && this.clock.now() + pauseMs > notAfter) throw error;
        if (again === "later") await pause(this.#host, pauseMs);
      }
    }
  }
}

/** The one place that trusts the shape of an answer: it is what our own function of that name returns. */
function answerOf<Answer>(rows: readonly Readonly<Record<string, unknown>>[]): Answer {
  return rows[0]?.["answer"] as Answer;
}
