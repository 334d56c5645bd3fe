/**
 * Sends calls. A call that may give a run a due instant goes by `armed` or `armedCall`: it is armed before it is sent,
 * so that no commit is without an alarm. Claims (which may make a run due now, for the next tick), renewals and reads go
 * by `call`, which arms nothing, and so do the moves of a tick, which has armed before. Each call names the instant after
 * which it must not take effect. It is sent again when nobody knows what became of it (every function is repeatable).
 */
import { type Alarm, type HostClock, type LargeValues, type Query, QueryError, type Row } from "../../core/ports.ts";
import { pause } from "../../core/waits.ts";
import { callMs, type Pace } from "../../core/waking.ts";
import { Alarms } from "../alarms.ts";
import { consequenceOf } from "../consequence.ts";
import { DatabaseClock } from "../database-clock.ts";
import { hostClock } from "../host-clock.ts";
import { checkFit, type KnownSchema, otherFunctions } from "../schema-fit.ts";

const tooLate = "LO002";
/** The SQLSTATE of a call that relies on a process which is not listed any more. */
const unlisted = "LO011";
/** How often a call is armed, each time with a new limit. */
const lastTry = 3;
/** How often a call is sent under one limit: 50, 200, 800 and 3,200 ms apart. */
const lastSend = 5;

export interface CallsOptions {
  readonly query: Query;
  readonly namespace: string;
  readonly alarm: Alarm;
  /** Whether the alarm rings at a pace of its own for ever, as a cron does, whatever is armed. Default: no. */
  readonly isBeat?: boolean | undefined;
  /** How exact the alarm is. Default: it rings at the beginning of its minute, or sooner. */
  readonly pace?: Pace | undefined;
  readonly host?: HostClock | undefined;
  /** What is known of the database's time already. Default: nothing, so the first call asks. */
  readonly clock?: DatabaseClock | undefined;
  /**
   * Answers what the database's time probably is, where the alarm remembers what it has armed. So the first call arms and
   * asks for the time at once. Default: it asks, and then it arms.
   */
  readonly guess?: (() => number) | undefined;
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

/** An API key that is used, and by which session. */
export interface KeyUse {
  readonly keyId: string;
  /** Undefined: whoever calls has the key itself. */
  readonly sessionId?: string | undefined;
}

export class CallSender {
  readonly clock: DatabaseClock;
  readonly alarms: Alarms;
  readonly #options: CallsOptions;
  readonly #query: Query;
  readonly #host: HostClock;
  /** The fields of every call. */
  readonly common: { readonly namespace: string; readonly keyId?: string; readonly sessionId?: string };

  constructor(options: CallsOptions, caller?: KeyUse & { readonly alarms: Alarms }) {
    const { query, namespace, alarm, isBeat, pace, host = hostClock, clock = new DatabaseClock(host) } = options;
    this.#options = options;
    this.#query = query;
    this.#host = host;
    const { keyId, sessionId } = caller ?? {};
    this.common = { namespace, ...(keyId !== undefined && { keyId }), ...(sessionId !== undefined && { sessionId }) };
    this.clock = clock;
    this.alarms = caller?.alarms ?? new Alarms({ alarm, clock, host, isBeat, pace });
  }

  get endpoint(): string {
    return this.#query.endpoint;
  }

  /** Carries out the transaction of a step. Undefined: the database's driver has none. */
  get transact(): Query["transact"] {
    return this.#query.transact;
  }

  /** The store that keeps large values. Undefined: the database keeps all values. */
  get store(): LargeValues | undefined {
    return this.#query.sealing?.store;
  }

  /** Sends a call once, within a transaction. It asks nothing outside of that, where the time is known. */
  async once<Answer>(
    name: string,
    callOf: (armed: readonly number[]) => object,
    send: (text: string, parameters: readonly string[]) => Promise<readonly Row[]>,
  ): Promise<Answer> {
    const notAfter = (await this.now()) + callMs;
    const armed = await this.alarms.armFor(notAfter, []);
    const call = { ...this.common, ...callOf(armed), ...this.rings(armed), notAfter };
    return await this.sealed<Answer>(name, call, (sealed) => send(textOf(name), [JSON.stringify(sealed)]));
  }

  /** Seals a call where the database is encrypted, sends it, and opens its answer. */
  async sealed<Answer>(
    name: string,
    call: CallSender["common"],
    send: (sealed: object) => Promise<readonly Row[]>,
  ): Promise<Answer> {
    const { sealing } = this.#query;
    if (sealing === undefined) return answerOf<Answer>(await send(call));
    return await sealing.open(name, call, answerOf<Answer>(await send(await sealing.seal(name, call, this.#query))));
  }

  /** Makes the sender of the holder of this API key. Once it is revoked, calls of verbs are refused (LO005). */
  by(use: KeyUse): CallSender {
    return new CallSender({ ...this.#options, clock: this.clock }, { ...use, alarms: this.alarms });
  }

  /** Answers the database's time, and asks for it if no answer has told it yet. */
  async now(): Promise<number> {
    if (!this.clock.isKnown) await this.send("read_clock", undefined, Number.POSITIVE_INFINITY);
    return this.clock.now();
  }

  /**
   * Answers the database's time to a call that will arm. If it must be asked, what a guess can name is armed meanwhile.
   * Default: the motion minute alone.
   */
  async nowArming(wakeInstants: (now: number) => readonly number[] = () => []): Promise<number> {
    const { guess } = this.#options;
    if (guess === undefined || this.clock.isKnown) return await this.now();
    const guessed = guess();
    const [now] = await Promise.all([
      this.now(),
      this.alarms.armByGuess(guessed, guessed + callMs, wakeInstants(guessed)),
    ]);
    return now;
  }

  /**
   * Sends a call that arms nothing. `armed`: instants that the caller has armed already. Only the processes in which
   * they ring are looked up here.
   */
  async call<Answer>(name: string, call: object, armed: readonly number[] = []): Promise<Answer> {
    return this.#again(async () => {
      const notAfter = (await this.now()) + callMs;
      return this.send<Answer>(name, { ...call, ...this.rings(armed), notAfter }, notAfter);
    });
  }

  armedCall<Answer>(name: string, call: object, wakeInstants: (now: number) => readonly number[]): Promise<Answer> {
    return this.armed(wakeInstants, (terms) =>
      this.send(name, { ...call, ...terms, ...this.rings(terms.armed) }, terms.notAfter),
    );
  }

  armed<Answer>(
    wakeInstants: (now: number) => readonly number[],
    send: (terms: { readonly armed: readonly number[]; readonly notAfter: number }) => Promise<Answer>,
  ): Promise<Answer> {
    return this.#again(async () => {
      const now = await this.nowArming(wakeInstants);
      const notAfter = now + callMs;
      return send({ armed: await this.alarms.armFor(notAfter, wakeInstants(now)), notAfter });
    });
  }

  /** Answers the field `rings` of a call: ids of the processes in which these instants ring. */
  rings(armed: readonly number[]): { readonly rings?: readonly string[] } {
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
        if (tries === lastTry || (state !== tooLate && state !== unlisted)) throw error;
        if (state === unlisted) await this.#options.ringers?.rearm();
        else await this.send("read_clock", undefined, Number.POSITIVE_INFINITY);
      }
    }
  }

  /** Checks that this code fits the database. @throws LayoverError `wrong_schema` */
  #checkFit(schema: KnownSchema): void {
    checkFit(schema);
    const other = this.clock.isKnown ? undefined : otherFunctions(schema);
    if (other !== undefined) this.#options.report?.(other, "asking the database what it is");
  }

  async send<Answer>(name: string, call: object | undefined, notAfter: number): Promise<Answer> {
    const text = call === undefined ? `select layover.${name}() as answer` : textOf(name);
    const { sealing } = this.#query;
    const all = { ...this.common, ...call };
    let parameters: readonly string[] | undefined;
    const begun = this.#host.monotonic();
    for (let pauseMs = 50, sends = 1; ; pauseMs *= 4, sends += 1) {
      let sentAt = 0;
      try {
        parameters ??= call === undefined ? [] : [JSON.stringify((await sealing?.seal(name, all, this.#query)) ?? all)];
        sentAt = this.#host.monotonic();
        const answer = answerOf<Answer & KnownSchema & { readonly now?: number }>(await this.#query(text, parameters));
        // If this throws, the time stays unknown, so the next call asks again.
        if (name === "read_clock") this.#checkFit(answer);
        const isStep = answer.now !== undefined && this.clock.learn(answer.now, sentAt);
        if (isStep) await this.alarms.rearm().catch(() => {}); // an alarm that failed is forgotten, and armed when it is needed
        return sealing === undefined ? answer : await sealing.open(name, all, answer);
      } catch (error) {
        const again = error instanceof QueryError ? consequenceOf(error).again : "never";
        const isTimeUp = this.#host.monotonic() + pauseMs > begun + callMs;
        if (again === "never" || sends === lastSend || isTimeUp) throw error;
        if (this.clock.isKnown && this.clock.now() + pauseMs > notAfter) throw error;
        if (again === "later") await pause(this.#host, pauseMs);
      }
    }
  }
}

function textOf(name: string): string {
  return `select layover.${name}($1) as answer`;
}

/** The one place that trusts the shape of an answer: it is what our own function of that name returns. */
function answerOf<Answer>(rows: readonly Readonly<Record<string, unknown>>[]): Answer {
  return rows[0]?.["answer"] as Answer;
}
