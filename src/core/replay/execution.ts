/**
 * A handler that runs over its history.
 *
 * Records are handed out one at a time, in order, each after the handler is at rest: microtasks drained and one
 * macrotask. So `race`, `any` and every interleaving decide the same way for ever. A handler that does not ask for
 * what its history holds has diverged. So has one that asks for something while no record is handed out: it has awaited
 * something that is no step.
 */
import { CancelledError } from "../contract/user-errors.ts";
import { defaultLimits } from "../limits.ts";
import { CalledBodies } from "./called-bodies.ts";
import { Closing, type ClosingKind } from "./closing.ts";
import { Copied } from "./copied.ts";
import { DecidedRaces } from "./decided-races.ts";
import { type Demand, placeName, type Wanted } from "./demand.ts";
import { askedLate, nested, unlike } from "./divergence.ts";
import type { ExecutionOptions, HandlerOutcome } from "./execution-options.ts";
import { type FailedBy, Failing, type Failure, openChildren } from "./failing.ts";
import { HandedOut } from "./handed-out.ts";
import { type HistoryRecord, isOf, settle } from "./history.ts";
import { occurrences } from "./occurrences.ts";
import { OnceSteps } from "./once-steps.ts";
import { never, rejected, unwatched } from "./promises.ts";
import type { Segments } from "./segments.ts";
import { type Ending, readEnding, Undos } from "./undos.ts";

export class Execution {
  /** The last position handed out. */
  position = 0;
  /** The time of the last record handed out, epoch milliseconds. */
  now: number;
  /** Its place. Undefined at the beginning. */
  lastPlace: string | undefined;
  outcome: HandlerOutcome | undefined;
  /** Why this code cannot have made this history. */
  divergence: string | undefined;
  /** Whether it diverged only since it still waits for something of its own. The next try may succeed. */
  isSetback = false;
  /** The end of the run before its time. Undefined: no record of the history tells of one. */
  closing: Closing | undefined;
  /** The same, if the handler was told: it was not if it had thrown by itself. */
  toldOf: Closing | undefined;
  /** How the run ends, once it is undone. Nobody asks the handler any more. */
  ending: Ending | undefined;
  readonly undos: Undos;
  readonly failing = new Failing();
  readonly onceSteps = new OnceSteps();
  readonly races = new DecidedRaces();
  /** The names of signals that are closed. */
  readonly closed = new Set<string>();
  /** What the verbs of `step` gave to the handler. */
  readonly handedOut = new HandedOut();
  readonly bodies = new CalledBodies();
  readonly nextOccurrence = occurrences();
  readonly copied: Copied;
  /** Stands for all that a run asks for and its history cannot hold: it waits until the run is being ended. */
  readonly tooMuch = unwatched<never>();
  readonly #atRest: () => Promise<void>;
  readonly #pending = new Map<string, Demand>();
  readonly #segments: Segments | undefined;
  readonly #onDemand: ExecutionOptions["onDemand"];
  #ordinal = 0;
  #isOpen = false;
  /** Whether the handler had thrown, and no cleanup was under way, when a record was handed out: none begins any more. */
  #hasEnded = false;
  #wake: () => void = () => {};

  constructor({ atRest, beginsAt, runId, segments, onDemand }: ExecutionOptions) {
    this.#atRest = atRest;
    this.#onDemand = onDemand;
    this.#segments = segments;
    this.copied = new Copied(segments, runId);
    this.undos = new Undos(this.copied);
    this.now = beginsAt;
  }

  /** Begins: runs the handler on to its first rest. */
  async begin(handle: () => Promise<unknown>): Promise<void> {
    await this.#untilRest(() => {
      (async () => handle())().then(
        (value) => this.#end({ kind: "returned", value }),
        (error: unknown) => this.#end({ kind: "threw", error }),
      );
    });
  }

  /** What the handler waits for, in order of demand. */
  get pending(): readonly Demand[] {
    return [...this.#pending.values()];
  }

  /** Whether the run waits for more than its history can record. Such a run is ended, so nothing more is made for it. Cleanups have room. */
  get isOverfull(): boolean {
    if (this.isClosing || this.outcome?.kind === "threw") return false;
    return this.position + this.#pending.size > defaultLimits.historyRecords;
  }

  /** The only demand there is, if there is just one. */
  get soleDemand(): Demand | undefined {
    const [sole] = this.#pending.values();
    return this.#pending.size === 1 ? sole : undefined;
  }

  find(path: string, occurrence: number): Demand | undefined {
    return this.#pending.get(placeName({ path, occurrence }));
  }

  /** The steps and waits that a handler asked for and had not awaited when it returned. */
  get unawaited(): readonly string[] {
    if (this.outcome?.kind !== "returned" || this.closing !== undefined) return [];
    return this.handedOut.unawaited(this.pending, this.races);
  }

  /** Whether the handler awaits something foreign, which no record settles: it is not over, and has no demand. */
  get isAwaitingForeign(): boolean {
    return this.outcome === undefined && this.divergence === undefined && this.#pending.size === 0;
  }

  /** Waits for what the handler awaits of its own: until its next demand, its end, or the end of `patience`. Then lets it come to rest. */
  async awaitForeign(patience: Promise<void>): Promise<void> {
    await Promise.race([patience, new Promise<void>((resolve) => (this.#wake = resolve))]);
    await this.#untilRest(() => {});
  }

  /** Describes what failed the run, by all that its history holds by now. */
  describeFailure(by: FailedBy): Failure {
    return this.failing.describe(by, [...openChildren(this.pending), ...this.races.children]);
  }

  /** Whether only the cleanups of the run go on. There is room for all records of them. */
  get isClosing(): boolean {
    return this.closing?.kind === "closing";
  }

  /** Whether the handler has ended, and nothing that it asked for in a cleanup is left to do. */
  get isOver(): boolean {
    return this.outcome !== undefined && !(this.isClosing && this.#pending.size > 0);
  }

  /** Whether the handler has thrown amid a cleanup of another part of it, and the history does not tell of that yet. */
  get mustCleanUp(): boolean {
    if (this.outcome?.kind !== "threw" || this.closing !== undefined || this.ending !== undefined) return false;
    return this.#isCleaningUp;
  }

  get #isCleaningUp(): boolean {
    return this.pending.some(({ isShielded }) => isShielded);
  }

  /** Notes why this code cannot have made this history. */
  diverge(reason: string): void {
    this.isSetback ||= this.isAwaitingForeign;
    this.divergence = reason;
  }

  /** Hands out the next record and runs the handler on to its next rest. */
  async hand(record: HistoryRecord): Promise<void> {
    if (this.divergence !== undefined) return;
    const key = placeName(record);
    const demand = this.#pending.get(key) ?? this.races.untold.get(key);
    const isOfRun = record.kind === "cancellation" || record.kind === "closing" || record.kind === "ending";
    const isAskedFor = demand === undefined ? this.races.mayRecord(record) : isOf(demand, record);
    if (!isOfRun && !isAskedFor) {
      this.diverge(unlike(record, this));
      return;
    }
    this.#hasEnded ||= this.outcome?.kind === "threw" && !this.#isCleaningUp;
    this.position += 1;
    this.now = Math.max(record.recordedAt, this.#segments?.at(this.position).at ?? 0);
    this.lastPlace = key;
    this.undos.noteRecord(record, this.position);
    this.onceSteps.noteRecord(record);
    await this.#untilRest(() => {
      if (isOfRun) this.failing.note(record, undefined, undefined);
      if (record.kind === "ending") return this.#beginUndoing(readEnding(record.value));
      if (record.kind === "cancellation" || record.kind === "closing") return this.#close(record.kind, record);
      const demandedAfter = demand?.demandedAfter ?? this.races.losers.get(key);
      this.#pending.delete(key);
      this.races.forget(key);
      const error = this.#settle(demand, record);
      this.failing.note(record, demandedAfter, error, demand?.wanted);
      this.copied.note(this.position);
    });
  }

  #settle(demand: Demand | undefined, record: HistoryRecord): Error | undefined {
    try {
      return settle(demand, record, this.position);
    } catch (error) {
      this.divergence = error instanceof Error ? error.message : String(error); // a value that cannot be decoded
      return undefined;
    }
  }

  /** Asks for something at a place; the promise is settled by a record. */
  demand(place: Pick<Demand, "path" | "occurrence" | "map" | "isShielded">, wanted: Wanted): Promise<unknown> {
    const isLate = !this.#isOpen;
    const hasRoom = this.#hasEnded ? this.toldOf?.kind === "closing" : this.closing?.kind !== "cancellation";
    if (this.ending !== undefined || (this.outcome?.kind === "threw" && !(place.isShielded && hasRoom))) return never();
    if (isLate && this.outcome !== undefined) return never();
    if (this.races.has(place.path)) return never();
    if (this.isOverfull) return this.tooMuch.promise;
    const [body] = this.bodies.underWay;
    if (isLate && body !== undefined) {
      // Nobody can tell whether the body asks or the code around it. The run is blocked, and the body gets an error.
      this.divergence ??= `${askedLate(placeName(place))}, or the body of step ${this.bodies.underWay.join(" or ")} uses \`step\``;
      return Promise.reject(nested(placeName(place), body));
    }
    const isRefused = this.closing?.allows(place, wanted.kind) === false;
    // A demand that the cancel refuses leaves no record. So it may come late without making the replay differ.
    if (isLate && this.#pending.size > 0 && !(isRefused && this.isClosing))
      this.divergence ??= askedLate(placeName(place));
    if (this.closing !== undefined && isRefused) return this.#refuse(place, this.closing);
    // Code that asks late may ask for more before its next rest. All of that counts as asked for at once.
    this.#isOpen = true;
    return this.#add(place, wanted);
  }

  /** Takes back what was asked for at a place. Answers whether it was still waited for. */
  withdraw(place: Pick<Demand, "path" | "occurrence">): boolean {
    return this.#pending.delete(placeName(place));
  }

  /** Answers where the handler stands, for what is decided by that alone. A replay may stand elsewhere when this comes late. */
  decide(path: string): number {
    if (!this.#isOpen && this.#pending.size > 0) this.divergence ??= askedLate(path);
    return this.position;
  }

  #add(place: Pick<Demand, "path" | "occurrence" | "map" | "isShielded">, wanted: Wanted): Promise<unknown> {
    const { promise, resolve, reject } = unwatched<unknown>();
    const { position: demandedAfter, now: demandedAt } = this;
    const demand = { ...place, wanted, ordinal: this.#ordinal++, demandedAfter, demandedAt, resolve, reject };
    this.#pending.set(placeName(place), demand);
    this.undos.note(demand);
    this.onceSteps.note(demand);
    this.#onDemand?.(demand);
    this.#wake();
    return promise;
  }

  /** Carries out what is owed. Nobody asks the handler any more. */
  #beginUndoing(ending: Ending): void {
    this.ending = ending;
    this.outcome = undefined;
    this.#pending.clear();
    this.races.forgetAll();
    void this.undos
      .carryOut(ending.owed, (place, step) => this.#add({ ...place, map: undefined, isShielded: true }, step))
      .then((failed) => (this.outcome = { kind: "undone", failed }));
  }

  /** Code that takes no refusal would ask for ever. Its run is over. (An earlier release blocked it after a timeout.) */
  #refuse(place: Pick<Demand, "path" | "occurrence">, closing: Closing): Promise<never> {
    const error = closing.refuse();
    if (error !== undefined) return rejected(error);
    if (this.isClosing) this.#end({ kind: "threw", error: new CancelledError(closing.reason) });
    else this.divergence ??= `the run is being cancelled, and its code asks for ${placeName(place)} again and again`;
    return never();
  }

  /** A race is decided: what is asked for below this prefix is dropped, but while cleanups go on alone. A record of it may still come. */
  release(prefix: string): void {
    if (this.toldOf?.kind === "closing") return;
    this.races.add({ prefix, position: this.position }, this.#pending);
  }

  /**
   * Tells the handler: what it waits for is rejected, but for cleanups. A second record ends those, too. A handler that has thrown is told
   * nothing, and what still comes settles what it waits for.
   */
  #close(kind: ClosingKind, { value, attempts }: HistoryRecord): void {
    const closing = new Closing(kind, value ?? undefined, this.closing);
    this.closing = closing;
    const refused = this.pending.filter((demand) => !closing.spares(demand));
    // A turn was begun, and was not finished. Of several steps each has a row, which tells whether it was begun.
    const sole = this.soleDemand;
    if (attempts > 1 && sole?.wanted.kind === "step" && !closing.spares(sole)) this.undos.noteBegun(sole);
    const isTold = !(closing.isAfterThrow && this.outcome?.kind === "threw");
    for (const demand of refused)
      this.races.drop(demand, this.#pending, { isAfterThrow: closing.isAfterThrow, isTold });
    if (!isTold) return;
    this.toldOf = closing;
    for (const demand of refused) demand.reject(new CancelledError(closing.reason));
    this.tooMuch.reject(new CancelledError(closing.reason));
  }

  #end(outcome: HandlerOutcome): void {
    if (this.ending === undefined) this.outcome ??= outcome;
    this.#wake();
  }

  async #untilRest(move: () => void): Promise<void> {
    this.#isOpen = true;
    move();
    await this.#atRest();
    this.#isOpen = false;
  }
}
