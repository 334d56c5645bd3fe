/**
 * The course of events in a world: what may happen next, one thing at a time, and the time, which passes only when
 * nothing else is left to happen. So the same seed plays the same story, however fast the machine is.
 */

export interface Happening {
  /** Describes what happens, in words that a person can follow. Called only when somebody asks. */
  readonly what: () => string;
  readonly act: () => Promise<void> | void;
}

/** A source of things that may happen. */
export interface Source {
  /** What may happen now, in the order in which it happens where nothing is shuffled. */
  happenings(): readonly Happening[];
  /** When something may happen of itself, in the world's milliseconds. Undefined: not before something else has. */
  next(): number | undefined;
}

export interface CourseOptions {
  readonly sources: readonly Source[];
  /** Whether every process waits at a port, for a timer, or for nothing. */
  readonly isAtRest: () => boolean;
  /** Turns the database's clock. */
  readonly turnTo: (time: number) => Promise<void>;
  /** Looks at the world before time passes. */
  readonly look: () => Promise<void>;
  /** Which of several things happens. Default: the first. */
  readonly pick?: ((happenings: readonly Happening[]) => Happening) | undefined;
  readonly mostEvents: number;
  readonly onHappening?: ((happening: Happening) => void) | undefined;
  /** Begins again what has died, before anything else happens. Answers whether anything had died. */
  readonly revive: () => boolean;
}

export class Course {
  /** Milliseconds since the world began. */
  time = 0;
  /** How much has happened. */
  events = 0;
  isOver = false;
  readonly #options: CourseOptions;

  constructor(options: CourseOptions) {
    this.#options = options;
  }

  /** Lets everything happen that happens at one instant. Answers false where nothing is left before `until`. */
  async moment(until: number): Promise<boolean> {
    const { time } = this;
    let isAny = false;
    while (await this.event(isAny ? time : until)) {
      isAny = true;
      if (this.time > time) return true;
    }
    return isAny;
  }

  /** Lets the next thing happen. Time passes to it, if nothing is left to happen now. */
  async event(until: number): Promise<boolean> {
    if (this.isOver) return false;
    const { sources, pick, mostEvents, revive, look, onHappening } = this.#options;
    await this.rest();
    if (revive()) await this.rest();
    const happenings = sources.flatMap((source) => source.happenings());
    const happening = pick !== undefined && happenings.length > 1 ? pick(happenings) : happenings[0];
    if (happening === undefined) {
      const next = this.next();
      if (next === undefined || next > until) return false;
      await look();
      await this.turnTo(next);
      return true;
    }
    if (++this.events > mostEvents) throw new Error(`more than ${mostEvents} events`);
    onHappening?.(happening);
    await happening.act();
    return true;
  }

  async turnTo(time: number): Promise<void> {
    this.time = time;
    await this.#options.turnTo(time);
  }

  async rest(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve));
    while (!this.#options.isAtRest());
  }

  /** Answers when something may happen of itself, in the world's milliseconds. */
  next(): number | undefined {
    const next = earliest(this.#options.sources.map((source) => source.next()));
    return next === undefined ? undefined : Math.max(next, this.time);
  }
}

export function earliest(instants: readonly (number | undefined)[]): number | undefined {
  const known = instants.filter((instant) => instant !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
