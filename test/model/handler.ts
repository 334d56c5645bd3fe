/**
 * What a handler does within its turn: it takes what came for its waits, carries out a step if that is all it waits
 * for, and demands more. It knows what its claim told it.
 */
import type { NewDemand, NewRecord } from "../../src/postgres/wire.ts";
import { isLive, isSamePlace } from "./rules.ts";
import type { Place, Row, Run, Signal } from "./run.ts";
import { signalsOffered } from "./settings.ts";
import type { DemandWish, FinishItem } from "./turn-wishes.ts";
import type { RunHolder, World } from "./world.ts";

export interface CarriedOut {
  readonly path: string;
  readonly occurrence: number;
  readonly demandedAfter: number;
  /** Number of the attempt, if it failed. Undefined: it succeeded. */
  readonly number: number | undefined;
  readonly retryInMs: number | undefined;
}

export class Handler {
  readonly records: NewRecord[] = [];
  waiting: readonly Row[];
  readonly #world: World;
  readonly #run: Run;
  readonly #holder: RunHolder;
  #hasLosers: boolean;
  #signals: readonly Signal[];
  #at: number;

  constructor(world: World, run: Run, holder: RunHolder) {
    this.#world = world;
    this.#run = run;
    this.#holder = holder;
    this.waiting = holder.awaited;
    this.#hasLosers = holder.hasLosers;
    this.#signals = holder.signals;
    this.#at = Math.max(world.now, holder.lastRecordAt);
  }

  take(most: number): void {
    for (let count = 0; count < most; count += 1) {
      const offer = this.#earliestOffer();
      if (offer === undefined) return;
      const { row, signal, value, isFailure } = offer;
      const { path, occurrence, kind } = row;
      if (kind === "branch" || kind === "retry") return;
      this.records.push({
        kind,
        path,
        occurrence,
        at: this.#at,
        ...(value !== undefined && { value }),
        ...(isFailure && { isFailure }),
        ...(signal !== undefined && { signal: signal.number }),
      });
      this.#signals = this.#signals.filter((other) => other !== signal);
      this.waiting = this.waiting.filter((other) => other !== row);
    }
  }

  /** Plays something that ends as soon as it is asked for, so that it is never stored as a wait. */
  pass(aside: FinishItem["asides"][number]): void {
    if (this.waiting.some(({ kind }) => kind === "retry")) return; // it waits for a step
    const at = this.#at;
    if (aside === "sleep") {
      this.records.push({ kind: "sleep", ...this.#freshPlace("z"), at });
    } else if (aside === "callback" || aside === "late callback") {
      const place = this.#freshPlace("c");
      const answer = this.#holder.answers.find((other) => isSamePlace(other, place));
      if (aside === "late callback") this.records.push({ kind: "callback", ...place, at });
      else if (answer?.value != null) {
        const isFailure = answer.outcome === "rejected";
        this.records.push({ kind: "callback", ...place, at, value: answer.value, isFailure });
      }
    } else {
      const signal = this.#signals.find(({ name }) => name === aside);
      if (signal === undefined) return;
      this.#signals = this.#signals.filter((other) => other !== signal);
      const place = this.#freshPlace("w");
      this.records.push({ kind: "signal", ...place, at, value: signal.payload, signal: signal.number });
    }
  }

  #earliestOffer() {
    const byName = new Map<string, number>();
    const offers = this.waiting
      .toSorted((one, other) => one.ordinal - other.ordinal)
      .flatMap((row) => this.#offer(row, byName));
    return offers.toSorted((one, other) => one.at - other.at)[0];
  }

  #offer(row: Row, used: Map<string, number>): Offer[] {
    const { claimedAt, answers } = this.#holder;
    const { until, signal: name } = row;
    const ended: Offer[] = until !== undefined && until <= claimedAt ? [{ row, at: until }] : [];
    const isInTime = (at: number) => until === undefined || at <= until;
    if (row.kind === "sleep") return ended;
    if (row.kind === "callback") {
      const answer = answers.find((other) => isSamePlace(other, row));
      if (answer === undefined || answer.value === null || !isInTime(answer.answeredAt)) return ended;
      return [{ row, at: answer.answeredAt, value: answer.value, isFailure: answer.outcome === "rejected" }];
    }
    if (row.kind !== "signal" || name === undefined) return [];
    const named = this.#signals.filter((other) => other.name === name);
    const place = used.get(name) ?? 0;
    const signal = named[place];
    if (signal === undefined) return named.length + this.#takenOf(name) >= signalsOffered ? [] : ended;
    if (!isInTime(signal.receivedAt)) return ended;
    used.set(name, place + 1);
    return [{ row, at: signal.receivedAt, value: signal.payload, signal }];
  }

  #takenOf(name: string): number {
    return this.#holder.signals.filter((signal) => signal.name === name && !this.#signals.includes(signal)).length;
  }

  /** Answers the races of which a branch has a record. Their other branches are let go. */
  decideRaces(): { prefix: string; position: number }[] {
    const { seen } = this.#holder;
    const history = [...this.#run.history.slice(0, seen), ...this.records];
    const prefixes = new Set(this.waiting.flatMap(({ path }) => path.match(/^.*r\d+\[/)?.slice(0, 1) ?? []));
    return [...prefixes].flatMap((prefix) => {
      const decidedBy = history.findIndex(({ path }) => path.startsWith(prefix));
      if (decidedBy < 0) return [];
      const losers = this.waiting.filter(({ path }) => path.startsWith(prefix));
      this.#hasLosers ||= losers.some(({ lease }) => isLive(lease, this.#world.now));
      this.waiting = this.waiting.filter((row) => !losers.includes(row));
      return [{ prefix, position: decidedBy + 1 }];
    });
  }

  /** Tells whether a step is carried out in the turn itself: it must be all that the handler waits for. */
  mayStep({ next, step }: FinishItem): boolean {
    const others = this.waiting.filter(({ kind }) => kind !== "retry");
    if (others.length > 0 || this.#hasLosers) return false;
    return this.waiting.length > 0 || next === "go on" || step !== "success";
  }

  carryOut(step: FinishItem["step"], retryMs: number): CarriedOut {
    const [retry] = this.waiting;
    const { path, occurrence } = retry ?? this.#freshPlace("s");
    const number = (retry?.attempts ?? 0) + 1;
    const demandedAfter = retry?.demandedAfter ?? this.#holder.seen + this.records.length;
    const place = { path, occurrence, demandedAfter };
    if (step.startsWith("retry")) return { ...place, number, retryInMs: retryMs };
    const isFailure = step === "failure";
    this.waiting = [];
    this.records.push({
      kind: "step",
      path,
      occurrence,
      value: "done",
      isFailure,
      at: this.#at,
      beganAt: this.#at,
      attempts: number,
    });
    return { ...place, number: isFailure ? number : undefined, retryInMs: undefined };
  }

  demand({ demands, isEarly }: FinishItem): NewDemand[] {
    const { seen } = this.#holder;
    const demandedAfter = isEarly ? seen : seen + this.records.length;
    const made: NewDemand[] = [];
    for (const wish of demands) {
      for (const { until, ...demand } of this.#demandsFor(wish, made)) {
        this.#world.numbers.token += 1;
        made.push({
          ...demand,
          demandedAfter,
          ordinal: this.#world.numbers.token,
          ...(until !== undefined && { until }),
        });
      }
    }
    return made;
  }

  #demandsFor(wish: DemandWish, made: readonly NewDemand[]): NewPlace[] {
    const until = "ms" in wish && wish.ms !== undefined ? this.#at + wish.ms : undefined;
    const branch = (path: string): NewPlace => ({ ...this.#freshPlace(path, made), kind: "branch" });
    const wait = (path: string, signal: string): NewPlace => ({
      ...this.#freshPlace(path, made),
      kind: "signal",
      signal,
      until,
    });
    switch (wish.what) {
      case "branch":
        return [branch("b")];
      case "sleep":
        return [{ ...this.#freshPlace("z", made), kind: "sleep", until }];
      case "cleanup":
        if (wish.ms === undefined) return [{ ...branch("k/b"), isShielded: true }];
        return [{ ...this.#freshPlace("k/z", made), kind: "sleep", until, isShielded: true }];
      case "signal":
        return [wait("w", wish.name)];
      case "callback":
        return [{ ...this.#freshPlace("c", made), kind: "callback", until }];
      case "race": {
        const room = this.#freshRoom("r", made);
        const steps = Array.from({ length: wish.branches }, (_, place) => branch(`${room}[${place}]/b`));
        return wish.branches === 1 ? [...steps, wait(`${room}[1]/w`, "red")] : steps;
      }
      case "map": {
        const { slots, failsFast } = wish;
        const map = { path: this.#freshRoom("m", made), slots, failsFast };
        return Array.from({ length: wish.items }, (_, place) => `${map.path}[${place}]`).flatMap((item, place) => {
          if (!wish.isOfRaces) return [{ ...branch(`${item}/s`), map }];
          const other = place % 2 === 0 ? wait(`${item}/r1[1]/w`, "red") : { ...branch(`${item}/r1[1]/b`), map };
          return [{ ...branch(`${item}/r1[0]/b`), map }, other];
        });
      }
      case "more of a map": {
        const maps = [...this.#run.maps];
        const chosen = maps[wish.index % Math.max(1, maps.length)];
        if (chosen === undefined) return [branch("b")];
        const [path, scope] = chosen;
        return [{ ...branch(`${path}[${wish.index % 3}]/t`), map: { path, ...scope } }];
      }
      case "again": {
        const row = this.waiting[wish.index % Math.max(1, this.waiting.length)];
        if (row === undefined || made.some((other) => isSamePlace(other, row))) return [];
        const { path, occurrence, kind, signal, isShielded } = row;
        const scope = row.map === undefined ? undefined : this.#run.maps.get(row.map);
        const map = row.map === undefined || scope === undefined ? {} : { map: { path: row.map, ...scope } };
        return [
          {
            path,
            occurrence,
            kind,
            until: row.until,
            ...(signal !== undefined && { signal }),
            ...(isShielded && { isShielded }),
            ...map,
          },
        ];
      }
    }
  }

  /** Answers the place of the path's next occurrence. */
  #freshPlace(path: string, made: readonly Place[] = []): Place {
    const known = [...made, ...this.records].flatMap((other) => (other.path === path ? [other.occurrence] : []));
    return { path, occurrence: 1 + Math.max(this.#run.occurrences.get(path) ?? 0, ...known) };
  }

  #freshRoom(letter: string, made: readonly NewDemand[]): string {
    const paths = [...this.#run.occurrences.keys(), ...made.map(({ path }) => path)];
    const known = paths.flatMap((path) => (path.startsWith(letter) ? [Number.parseInt(path.slice(1), 10)] : []));
    return `${letter}${1 + Math.max(0, ...known)}`;
  }
}

interface Offer {
  readonly row: Row;
  readonly at: number;
  /** The value that came. Undefined: the wait timed out. */
  readonly value?: string;
  readonly isFailure?: boolean;
  readonly signal?: Signal;
}

type NewPlace = Omit<NewDemand, "demandedAfter" | "ordinal" | "until"> & { readonly until?: number | undefined };
