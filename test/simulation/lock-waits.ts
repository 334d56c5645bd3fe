/**
 * The statements that wait for a lock which another transaction holds. Postgres sees at most one of them wait, so that
 * the seed says in which order they go on.
 */
import type { Query } from "../../src/core/ports.ts";
import type { Chance } from "../engine/chance.ts";
import type { Course } from "../engine/course.ts";
import type { Flight, Session } from "./sessions.ts";

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

interface LockWaitsOptions {
  readonly course: () => Course;
  readonly chance: Chance;
  readonly note: (line: () => string) => void;
}

export class LockWaits {
  readonly #options: LockWaitsOptions;
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
  /** How many statements waited for a lock. */
  waits = 0;

  constructor(options: LockWaitsOptions) {
    this.#options = options;
  }

  /** Goes on until the statement is answered or waits for a lock. */
  async send<Answer>(statement: Statement<Answer>, { isAnew = false } = {}): Promise<void> {
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
      this.#behind.push(() => this.send(statement, { isAnew: true }));
    }
  }

  /**
   * Lets the statements go on, one after the other, that waited for the locks of a transaction which has ended. Before
   * each of them, every process that was told an answer comes to rest. Otherwise that process and Postgres would race.
   */
  async freed(): Promise<void> {
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
}
