/**
 * A run in this process's memory: its handler, and what the process knows of the run's rows. That is enough to go on
 * without asking again.
 */
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import type { Workflow } from "../../core/contract/contract.ts";
import { afterThrow } from "../../core/replay/closing.ts";
import { type Demand, placeName } from "../../core/replay/demand.ts";
import type { Execution } from "../../core/replay/execution.ts";
import type { HistoryRecord } from "../../core/replay/history.ts";
import { type Patch, Patches } from "../../core/replay/patches.ts";
import type { Segment, Segments } from "../../core/replay/segments.ts";
import type { ClaimedRun, Saying, WireRecord } from "../../postgres/wire.ts";
import type { Mistake, TraceRef } from "../events.ts";
import type { EngineOptions } from "../options.ts";
import type { Origin } from "../telemetry.ts";
import { Room } from "./room.ts";

/** A body that runs on the handler's closures. */
export interface BodyAtWork {
  readonly step: string;
  readonly attempt: number;
  readonly trace: TraceRef | undefined;
}

export class LoadedRun {
  readonly runId: string;
  readonly epoch: number;
  readonly workflow: Workflow;
  readonly execution: Execution;
  readonly segments: Segments;
  readonly origin: Origin;
  readonly room: Room;
  /** The span of the turn under way. */
  trace: TraceRef | undefined;
  readonly #rows = new Map<string, number | undefined>();
  readonly #failedAttempts = new Map<string, number>();
  #rowsThrough = -1;
  #bytes: number;
  readonly #bodies = new Set<BodyAtWork>();
  #handedPosition: number;
  #sayings: readonly Saying[] = [];
  readonly #patches = new Patches();
  #madeInput: string | undefined;

  /**
   * `bytes`: the size of the run's input. `handedPosition`: up to where another process has run the handler on.
   * `madeInput`: what the code of its schedule has made as its input, if no finish has stored that yet.
   */
  constructor(given: {
    readonly runId: string;
    readonly epoch: number;
    readonly workflow: Workflow;
    readonly execution: Execution;
    readonly segments: Segments;
    readonly origin?: Origin;
    readonly handedPosition: number;
    readonly bytes: number;
    readonly room?: Room;
    readonly madeInput?: string | undefined;
  }) {
    this.runId = given.runId;
    this.epoch = given.epoch;
    this.workflow = given.workflow;
    this.execution = given.execution;
    this.segments = given.segments;
    this.origin = given.origin ?? { createdAt: given.execution.now, traceparent: null };
    this.room = given.room ?? new Room(undefined);
    this.#handedPosition = given.handedPosition;
    this.#bytes = given.bytes;
    this.#madeInput = given.madeInput;
  }

  /** The size of its input and of its history, as far as the history is known. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The position up to which the pending rows are known. -1: none is known, as after the replay for a branch. */
  get rowsThrough(): number {
    return this.#rowsThrough;
  }

  /** Whether a body runs on this handler's closures at present. The handler rests meanwhile. */
  get isBodyAtWork(): boolean {
    return this.#bodies.size > 0;
  }

  /** Whether the handler was here before: what it logs now was logged then. */
  get isReplaying(): boolean {
    return this.execution.position <= this.#handedPosition;
  }

  /**
   * Notes what the run says of itself. In a replay that was said before, and something newer may have been said since,
   * by a body too: so it is ignored.
   */
  say(value: string): void {
    if (!this.isBodyAtWork && this.isReplaying) return;
    const saidAfter = this.execution.position;
    this.#sayings = [...this.#sayings.filter((earlier) => earlier.saidAfter < saidAfter), { value, saidAfter }];
  }

  /** What the run said last, unless a finish has taken it. */
  get lastSaying(): string | undefined {
    return this.#sayings.at(-1)?.value;
  }

  /**
   * Takes what a finish is to store: the last saying, and the last one up to the position that its turn saw. Only that one
   * is stored if the finish is deferred, since the next turn says again what came after.
   */
  takeSayings(seen: number): readonly Saying[] {
    const sayings = this.#sayings;
    this.#sayings = [];
    const last = sayings.at(-1);
    return sayings.filter((saying, index) => {
      const next = sayings[index + 1];
      return saying === last || (saying.saidAfter <= seen && next !== undefined && next.saidAfter > seen);
    });
  }

  /** Answers `step.patched` where the handler stands. */
  isPatched(path: string): boolean {
    return this.#patches.ask(path, this.execution.decide(path), this.isReplaying);
  }

  /** The changes of its code that it has met and no finish has taken. */
  get freshPatches(): readonly Patch[] {
    return this.#patches.fresh;
  }

  /** Takes the changes of its code that a finish is to keep. */
  takePatches(): readonly Patch[] {
    return this.#patches.take();
  }

  /** The input that its schedule's code has made, as the codec's text, if no finish has taken it. */
  get madeInput(): string | undefined {
    return this.#madeInput;
  }

  /** Takes the input that a finish is to store. */
  takeMadeInput(): string | undefined {
    const input = this.#madeInput;
    this.#madeInput = undefined;
    return input;
  }

  /** Notes, before a replay, how far other processes have run the handler on, and what changes of its code it met there. */
  noteReplay({ handedPosition, patches }: Pick<ClaimedRun, "handedPosition" | "patches">): void {
    this.#handedPosition = handedPosition;
    this.#patches.note(patches ?? []);
  }

  /** Begins a turn of the run, with what its claim told. */
  beginTurn({
    handedPosition,
    historyBytes,
  }: {
    readonly handedPosition: number;
    readonly historyBytes: number;
  }): void {
    this.#handedPosition = handedPosition;
    this.#bytes = Math.max(this.#bytes, historyBytes);
  }

  /** Comes to rest where the database has confirmed everything. */
  rest(): void {
    this.#handedPosition = this.execution.position;
    this.#rowsThrough = this.execution.position;
  }

  /** Whether a pending row stands for this demand. */
  hasRow(place: string): boolean {
    return this.#rows.has(place);
  }

  /**
   * The instant until which a demand waits. Undefined: it has no end.
   *
   * It is the one that was recorded when it was demanded: new code may say otherwise, and so may a handler that reckons
   * from `Date.now()`, at each replay. If that counted, a run whose row is ready would be claimed again and again.
   */
  untilOf(demand: Demand): number | undefined {
    const place = placeName(demand);
    if (this.#rows.has(place)) return this.#rows.get(place);
    const { wanted } = demand;
    if (!("until" in wanted) || wanted.until === undefined) return undefined;
    if (wanted.kind === "sleep" && wanted.isNamed === true) return wanted.until;
    return wanted.until + this.segments.shiftSince(demand.demandedAfter);
  }

  noteRow(place: string, until: number | undefined): void {
    this.#rows.set(place, until);
  }

  forgetRow(place: string): void {
    this.#rows.delete(place);
  }

  /** How many attempts of the inline step failed. */
  failedAttemptsOf(place: string): number {
    return this.#failedAttempts.get(place) ?? 0;
  }

  noteFailedAttempts(place: string, count: number): void {
    this.#failedAttempts.set(place, count);
  }

  /** Notes that a body runs, until the answered function is called. */
  beginBody(body: BodyAtWork): () => void {
    this.#bodies.add(body);
    return () => {
      this.#bodies.delete(body);
      this.execution.bodies.end(body.step);
    };
  }

  /** The body that logs, if just one is at work. Otherwise nobody can tell whether the handler logs or one of several bodies. */
  get speaker(): Partial<BodyAtWork> {
    const [body] = this.#bodies;
    return body !== undefined && this.#bodies.size === 1 ? body : { trace: this.trace };
  }

  /**
   * Hands out the next records, in order. Stops where the code diverges. `patience`: up to a second for what the handler
   * awaits of its own; it had that in the first pass too.
   */
  async replay(records: readonly WireRecord[], patience: () => Promise<void>): Promise<void> {
    for (const record of records) {
      const hadThrown = record[0] === "closing" && record[4] === afterThrow;
      if (this.execution.isAwaitingForeign || (hadThrown && this.execution.outcome === undefined))
        await this.execution.awaitForeign(patience());
      await this.execution.hand(toRecord(record));
      this.#bytes += record[4]?.length ?? 0;
      if (this.execution.divergence !== undefined) return;
    }
  }

  /** Reports a mistake of the handler once, and not again in a replay. */
  warn({ onEvent }: EngineOptions, code: Mistake["code"], message: string): void {
    if (this.isReplaying) return;
    const { runId } = this;
    const workflow = this.workflow.contract.name;
    onEvent?.({ kind: "handler_mistaken", code, message, runId, workflow });
  }

  /** The seed of what the handler draws where it stands. */
  seed(text: string): Uint8Array {
    return seedOf(this.segments.at(this.execution.position), text);
  }

  /** The seed of a step's keys, or of a new run's id. They are new after a restart, unless a record from before has them. */
  keySeed(text: string, recordedAt?: number): Uint8Array {
    return seedOf(recordedAt === undefined ? this.segments.newest : this.segments.at(recordedAt - 1), text);
  }
}

function seedOf({ run, epoch }: Segment, text: string): Uint8Array {
  return hmac(sha256, utf8ToBytes(`${run}/${epoch}`), utf8ToBytes(text));
}

function toRecord([kind, path, occurrence, isFailure, value, recordedAt, attempts]: WireRecord): HistoryRecord {
  return { kind, path, occurrence, isFailure, value, recordedAt, attempts };
}
