/**
 * The way of each call from the process that makes it to the world outside, and what may become of it there: it fails,
 * it comes late or twice, its process dies, or it is held between its execution and its COMMIT, so that others run and
 * wait for its locks.
 */
import { type Query, QueryError, type Row } from "../../src/core/ports.ts";
import type { Chance } from "../engine/chance.ts";
import { type Course, earliest, type Happening, type Source } from "../engine/course.ts";
import type { Mortal, Waiting } from "../engine/mortal.ts";
import type { Fate, Faults } from "./faults.ts";
import type { Line } from "./line.ts";
import type { Flight, Session, Sessions } from "./sessions.ts";

export interface PassageOptions {
  readonly course: () => Course;
  readonly chance: Chance;
  readonly faults: Faults;
  readonly sessions: Sessions;
  readonly processes: () => readonly Mortal[];
  readonly crash: (process: Mortal) => void;
  /** Looks at the rows, since something may have changed them. */
  readonly look: () => Promise<void>;
  /** Called with each call that a process makes, before anything becomes of it. */
  readonly onCall: (call: Waiting) => void;
  readonly note: (line: () => string) => void;
  readonly line: Line;
  readonly describe: (call: Waiting) => string;
  readonly describeAnswer: (rows: readonly Row[]) => string | undefined;
}

/** Longest time from execution to COMMIT, in milliseconds: what `latestCommit` of src/core/waking.ts counts on. */
const longestHoldMs = 30_000;
const longestLatencyMs = 40;
const latestMs = 5 * 60_000;
/** SQL functions after whose answer somebody dispatches what they made ready, or has others look at it. */
const hinting = new Set([
  "finish_once",
  "start_run",
  "send_signal",
  "answer_callback",
  "return_leases",
  "resume_run",
  "cancel_run",
  "operate_runs",
  "fork_run",
]);
/** SQL functions that give a lease or make one longer. Its holder may be dead by their COMMIT, and its successor has looked already. */
const leasing = new Set(["claim_turns", "finish_turns", "renew_leases"]);
/** SQL functions that change nothing. */
const reading = new Set(["read_clock", "list_due", "get_run", "list_runs", "get_history", "read_callback"]);

/** A statement that is executed, and not committed yet. */
interface Held {
  readonly what: () => string;
  /** When it is committed, in the world's milliseconds. */
  readonly until: number;
  readonly release: () => Promise<void>;
}

/** A copy that nobody waits for. */
interface Stray {
  readonly call: Waiting;
  readonly at: number;
}

/** A statement in a transaction of its own, so that those which were freed together commit one after the other. */
interface Statement<Answer> {
  readonly what: () => string;
  readonly session: Session;
  readonly act: (via: Query) => Promise<Answer>;
  /** Called with the answer. */
  readonly land: (answer: Answer) => Promise<void> | void;
  /** Tells whether nobody wants it any more. */
  readonly isOver?: () => boolean;
}

/** A way to the database whose answers are heard. */
interface Listening {
  readonly query: Query;
  /** Notes what was answered. */
  readonly note: () => void;
  /** Tells whether it was answered that there was nothing to prune: most ticks hear that, and no look shows anything. */
  readonly hasPrunedNothing: () => boolean;
}

/** What somebody outside does in the database. */
interface Deed {
  readonly what: string;
  readonly act: () => Promise<void>;
}

export class Passage implements Source {
  readonly #options: PassageOptions;
  #held: Held[] = [];
  #strays: Stray[] = [];
  #deeds: Deed[] = [];
  /**
   * The statement that waits for a lock. It is the only one: of two that are freed by the same COMMIT either might be
   * the first to go on, and no seed would say which.
   */
  #first: { readonly flight: Flight<unknown>; readonly goOn: () => Promise<void> } | undefined;
  /**
   * Statements that would wait beside the first one. They are taken back, and sent anew in an order that the seed
   * says.
   */
  #behind: (() => Promise<void>)[] = [];
  /** When something last went wrong, in the world's milliseconds. */
  troubledAt = 0;
  /** Whether nobody dispatches what a call has made ready, since whoever made it did not learn of it, or is dead. */
  isHintLost = false;
  statements = 0;
  /** How many statements waited for a lock. */
  waits = 0;

  constructor(options: PassageOptions) {
    this.#options = options;
  }

  happenings(): readonly Happening[] {
    const { course, describe, processes } = this.#options;
    const { time } = course();
    return [
      ...processes().flatMap((owner) =>
        owner.waiting.toSorted(byName).map((call) => ({
          what: () => `${owner.name}: ${describe(call)}`,
          act: () => this.#pass(owner, call),
        })),
      ),
      ...this.#deeds.map((deed) => ({ what: () => deed.what, act: () => this.#do(deed) })),
      ...this.#held
        .filter(({ until }) => until <= time)
        .map((held) => ({ what: held.what, act: () => this.#release(held) })),
      ...this.#strays
        .filter(({ at }) => at <= time)
        .map((stray) => ({ what: () => `carried out late: ${describe(stray.call)}`, act: () => this.#arrive(stray) })),
    ];
  }

  next(): number | undefined {
    return earliest([...this.#held.map(({ until }) => until), ...this.#strays.map(({ at }) => at)]);
  }

  /** Does something in the database for somebody outside, when its turn comes. */
  happen<Answer>(what: string, act: () => Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#deeds.push({ what, act: () => act().then(resolve, reject) });
    });
  }

  /** Sends a statement within somebody's own transaction, unless that has ended. It may have to wait for a lock. */
  inTransaction<Answer>(
    what: string,
    { session, isOver }: { readonly session: Session; readonly isOver: () => boolean },
    act: (via: Query) => Promise<Answer>,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const begin = async () => {
        await this.#send({
          what: () => what,
          session,
          isOver,
          act: (via) =>
            act(via).then(
              (answer) => () => resolve(answer),
              (error: unknown) => () => reject(error),
            ),
          land: (tell) => tell(),
        });
      };
      this.#deeds.push({ what, act: begin });
    });
  }

  /** Releases all that is held, and rolls back what still stands open. */
  async end(): Promise<void> {
    while (this.#held[0] !== undefined) await this.#release(this.#held[0]);
    await this.#options.sessions.clear();
  }

  async #do(deed: Deed): Promise<void> {
    this.#deeds = this.#deeds.filter((other) => other !== deed);
    await deed.act();
    await this.#options.course().rest();
    await this.#options.look();
    await this.#freed();
  }

  async #pass(owner: Mortal, call: Waiting): Promise<void> {
    owner.waiting = owner.waiting.filter((other) => other !== call);
    const { faults, crash, note, chance, course, onCall } = this.#options;
    onCall(call);
    const fate = faults.fateOf(call);
    if (fate !== "passes") {
      note(() => `… which ${fate}`);
      this.troubledAt = course().time;
      this.isHintLost ||= hinting.has(call.what);
    }
    if (fate === "dies before") return crash(owner);
    if (fate === "fails before") return call.reject(broken(true));
    if (fate === "hangs before") return;
    if (fate === "comes late" || fate === "comes twice")
      this.#strays.push({ call, at: course().time + chance.below(latestMs) });
    // A process that asks again gets it done. One that dies leaves it to come late.
    if (fate === "comes late") return chance.below(2) === 0 ? crash(owner) : call.reject(broken(false));
    if (call.port !== "query") return this.#tell(owner, call, fate, await call.act());
    await this.#query(owner, call, fate);
  }

  async #query(owner: Mortal, call: Waiting, fate: Fate): Promise<void> {
    const { sessions, chance, course, line, look, describe } = this.#options;
    this.statements += 1;
    // A statement may take time, which the database sees pass before it answers.
    if (chance.below(2) === 0) await course().turnTo(course().time + chance.below(longestLatencyMs));
    const isHeld = (fate === "is held" || fate === "is cut") && !sessions.areLent;
    if (!isHeld && !sessions.isAnyLent) {
      const isChanging = !reading.has(call.what) && call.what !== "prune_runs";
      const listening = this.#listen(isChanging ? line.changing : line.query);
      const tell = await call.act(listening.query);
      listening.note();
      if (isChanging || (!reading.has(call.what) && !listening.hasPrunedNothing())) await look();
      return this.#tell(owner, call, fate, tell);
    }
    const session = await sessions.lend();
    await session.begin();
    const listening = this.#listen(session.query);
    await this.#send({
      what: () => `${owner.name}: ${describe(call)}`,
      session,
      act: () => call.act(listening.query),
      land: async (tell) => {
        listening.note();
        if (isHeld) return this.#hold(owner, call, fate, session, tell);
        await session.end("commit");
        sessions.giveBack(session);
        await look();
        this.#tell(owner, call, fate, tell);
      },
    });
  }

  /** Keeps what is answered, so that it can be noted when its turn comes. */
  #listen(query: Query): Listening {
    const { note, describeAnswer } = this.#options;
    let answer: string | undefined;
    let pruned: unknown;
    const heard = async (...statement: Parameters<Query>) => {
      const rows = await query(...statement);
      answer = describeAnswer(rows);
      pruned = Object(rows[0]?.["answer"]).pruned;
      return rows;
    };
    return {
      query: Object.assign(heard, { endpoint: query.endpoint }),
      note: () => {
        if (answer !== undefined) note(() => `  → ${answer}`);
      },
      hasPrunedNothing: () => pruned === 0,
    };
  }

  #hold(owner: Mortal, call: Waiting, fate: Fate, session: Session, tell: () => void): void {
    const { sessions, chance, course, describe } = this.#options;
    const how = fate === "is cut" ? "rollback" : "commit";
    this.#held.push({
      what: () => `${how}s what was held: ${owner.name}: ${describe(call)}`,
      until: course().time + chance.below(chance.below(2) === 0 ? longestLatencyMs : longestHoldMs),
      release: async () => {
        await session.end(how);
        this.isHintLost ||= how === "commit" && owner.isDead && leasing.has(call.what);
        sessions.giveBack(session);
        await this.#options.look();
        if (how === "rollback") call.reject(broken(false));
        else this.#tell(owner, call, "passes", tell);
      },
    });
  }

  async #release(held: Held): Promise<void> {
    this.troubledAt = this.#options.course().time;
    this.#held = this.#held.filter((other) => other !== held);
    await held.release();
    await this.#freed();
  }

  /** Goes on until the statement is answered or waits for a lock. */
  async #send<Answer>(statement: Statement<Answer>, { isAnew = false } = {}): Promise<void> {
    const { what, session, act, land, isOver } = statement;
    if (isOver?.()) return;
    const { note } = this.#options;
    const flight = session.fly(act);
    const goOn = async () => {
      note(() => `… after its wait: ${what()}`);
      await land(flight.answer);
    };
    if ((await flight.progress()) === "answered") return isAnew ? goOn() : land(flight.answer);
    if (!isAnew) {
      this.waits += 1;
      note(() => "… which waits for a lock");
    }
    if (this.#first === undefined) {
      this.#first = { flight, goOn };
    } else {
      await flight.takeBack();
      this.#behind.push(() => this.#send(statement, { isAnew: true }));
    }
  }

  /**
   * Lets the statements go on, one after the other, that waited for the locks of a transaction which has ended. Before
   * each of them, every process that was told an answer comes to rest. Otherwise that process and Postgres would race.
   */
  async #freed(): Promise<void> {
    const course = this.#options.course();
    await course.rest();
    const first = this.#first;
    if (first !== undefined && (await first.flight.progress()) === "answered") {
      this.#first = undefined;
      await first.goOn();
      await course.rest();
    }
    let behind = this.#behind;
    this.#behind = [];
    while (behind.length > 0) {
      const next = this.#options.chance.pick(behind);
      behind = behind.filter((other) => other !== next);
      await next();
      await course.rest();
    }
  }

  async #arrive(stray: Stray): Promise<void> {
    this.troubledAt = this.#options.course().time;
    this.#strays = this.#strays.filter((other) => other !== stray);
    const { call } = stray;
    if (call.port !== "query") return void (await call.act());
    const { sessions, look, describe } = this.#options;
    this.statements += 1;
    const session = await sessions.lend();
    await session.begin();
    await this.#send({
      what: () => describe(call),
      session,
      act: (via) => call.act(via),
      land: async () => {
        await session.end("commit");
        sessions.giveBack(session);
        await look();
      },
    });
  }

  #tell(owner: Mortal, call: Waiting, fate: Fate, tell: () => void): void {
    if (fate === "dies after") this.#options.crash(owner);
    else if (fate === "fails after") call.reject(broken(false));
    else if (fate === "hangs after") return;
    else tell();
  }
}

function byName(one: Waiting, other: Waiting): number {
  const [a, b] = [nameOf(one), nameOf(other)];
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The last part of a value's key in a store is no part of the seed. */
function nameOf({ port, what, parameter }: Waiting): string {
  return `${port} ${what} ${parameter?.replace(/(\/[0-9a-f-]{36}\/)[0-9a-f-]{36}/g, "$1")}`;
}

function broken(isRolledBack: boolean): QueryError {
  return new QueryError("the connection broke", { isRolledBack });
}
