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
import { listen } from "./listening.ts";
import { LockWaits } from "./lock-waits.ts";
import type { Session, Sessions } from "./sessions.ts";

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
  readonly #locks: LockWaits;
  /** When something last went wrong, in the world's milliseconds. */
  troubledAt = 0;
  /** Whether nobody dispatches what a call has made ready, since whoever made it did not learn of it, or is dead. */
  isHintLost = false;
  statements = 0;

  constructor(options: PassageOptions) {
    this.#options = options;
    this.#locks = new LockWaits(options);
  }

  /** How many statements waited for a lock. */
  get waits(): number {
    return this.#locks.waits;
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
        await this.#locks.send({
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
    await this.#locks.freed();
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
      const listening = listen(isChanging ? line.changing : line.query, this.#options);
      const tell = await call.act(listening.query);
      listening.note();
      if (isChanging || (!reading.has(call.what) && !listening.hasPrunedNothing())) await look();
      return this.#tell(owner, call, fate, tell);
    }
    const session = await sessions.lend();
    await session.begin();
    const listening = listen(session.query, this.#options);
    await this.#locks.send({
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
    await this.#locks.freed();
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
    await this.#locks.send({
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
