/**
 * Lets several processes on one database ring for each other. A timer is gone with its process, so each process arms a
 * copy in another one. Every 20 seconds, over HTTP, each looks whether the others are still there. When a process is
 * gone, the copies that it held are armed in others, and a tick looks for what it was to do soon.
 *
 * The processes find each other by a table, in which each writes a row when it begins. While all of them answer, nobody
 * asks the database. A process that is listed and does not answer may be alive, and may itself fail to reach this one.
 * Then both look into the database each minute, until the other one answers or is struck from the list.
 */
import type { Alarm, HostClock } from "../../../core/ports.ts";
import { within } from "../../../core/waits.ts";
import { type ArmMessage, type Instant, mostInstants, type Peer } from "../../../http/arm.ts";
import { hostClock } from "../../../postgres/host-clock.ts";
import type { ProcessAnswer, ProcessCall } from "../../../postgres/wire-scheduler.ts";
import { AlarmCopies, type AlarmCopy, copyOf, distances } from "./alarm-copies.ts";
import { Peers } from "./peers.ts";
import { closing, lateFarewell, misdirected, unreached } from "./process-errors.ts";

export interface NeighboursOptions {
  readonly self: Peer;
  /** The timers of this process. */
  readonly alarm: Alarm;
  /** Sends a message. Rejects if the other process does not take it. */
  readonly send: (to: Peer, message: ArmMessage) => Promise<void>;
  readonly list: (call: Pick<ProcessCall, "gone" | "silentMs" | "isLeaving">) => Promise<ProcessAnswer>;
  /** Starts a tick. */
  readonly ring: () => void;
  /** Starts a tick that also looks for what will be ready soon. */
  readonly lookAhead: () => void;
  readonly onError: (error: unknown, doing: string) => void;
  readonly host?: HostClock | undefined;
}

const pingMs = 20_000;
/** The most processes that are asked to take an instant. After that this process goes on alone. */
const mostTries = 3;
const lookMs = 60_000;
const listMs = 3_600_000;
/**
 * How long a process was not reached before it may be struck from the list. It must not have written its row for nearly
 * as long.
 */
const goneMs = 180_000;
const silentMs = 150_000;
/** How long a process that ends may take to say so. */
const leaveMs = 8_000;

export class Neighbours {
  readonly #options: NeighboursOptions;
  readonly #host: HostClock;
  readonly #peers: Peers;
  readonly #copies = new AlarmCopies();
  #listedAt = Number.NEGATIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #stopPinging: (() => void) | undefined;
  #stopLooking: (() => void) | undefined;
  #refreshing: Promise<unknown> = Promise.resolve();
  #rearming: Promise<void> | undefined;
  #isLeaving = false;

  constructor(options: NeighboursOptions) {
    this.#options = options;
    this.#host = options.host ?? hostClock;
    this.#peers = new Peers(options.self);
  }

  begin(): void {
    this.#stopPinging = this.#host.after(pingMs, () => {
      this.begin();
      void this.#ping();
    });
  }

  /** Lists this process and learns of others, if that was not done lately. It must be called before each tick. */
  async refresh(): Promise<void> {
    this.#refreshing = this.#refresh();
    await this.#refreshing;
  }

  async #refresh(): Promise<void> {
    const now = this.#host.monotonic();
    const hasLost = this.#peers.lostFor(0, now).length > 0;
    // Ticks that others ask for call this as well. So each look of the minute comes a little early.
    if (this.#isLeaving || now - this.#listedAt < (hasLost ? lookMs - 5_000 : listMs)) return;
    const listed = await this.#list();
    const struck = this.#peers.lostFor(0, now).filter((id) => !listed.has(id));
    for (const id of struck) this.#peers.forget(id);
    // A call that relies on a process which was struck may be under way. It commits within the minute.
    if (struck.length > 0) this.#stopLooking = this.#host.after(lookMs, this.#options.ring);
  }

  /** Lists this process. Answers who is listed. */
  async #list(): Promise<ReadonlySet<string>> {
    const now = this.#host.monotonic();
    if (this.#isLeaving) return new Set(this.#peers.all().map(({ id }) => id));
    const { others } = await this.#options.list({ gone: this.#peers.lostFor(goneMs, now), silentMs });
    this.#listedAt = now;
    // It does not wait for the answers: a process that does not answer must not hold up the tick.
    for (const peer of others) if (this.#peers.learn(peer)) void this.#ask(peer);
    return new Set(others.map(({ id }) => id));
  }

  /** Arms the instants here and in another process. Resolves when that is done, as far as it can be done. */
  readonly arm: Alarm = async (instants) => {
    const { alarm } = this.#options;
    const toCome = instants.filter(({ inMs }) => inMs > 0).map(copyOf);
    await Promise.all([this.#isLeaving ? undefined : alarm(instants), this.#copy(toCome)]);
  };

  /**
   * Ids of the processes in which these instants ring. None, if this one has not listed itself yet or is about to end.
   */
  of(instants: readonly number[]): readonly string[] {
    if (this.#isLeaving || !Number.isFinite(this.#listedAt)) return [];
    const others = instants.flatMap((at) => this.#copies.besideOf(at) ?? []);
    return [this.#options.self.id, ...new Set(others.filter((id) => this.#peers.counts(id)))];
  }

  /**
   * Arms everything anew. It is called when the database says that a process in which something rings is not listed.
   * That may be this process, if it was silent for too long. It may be another one, which lists itself again if it is
   * still there. A process that is not listed after that is forgotten, and what it was to ring is armed in others.
   */
  rearm(): Promise<void> {
    this.#rearming ??= this.#rearm().finally(() => {
      this.#rearming = undefined;
    });
    return this.#rearming;
  }

  async #rearm(): Promise<void> {
    const listed = await this.#listAnew();
    const missing = this.#peers.all().filter(({ id }) => !listed.has(id));
    const isThere = await Promise.all(missing.map((peer) => this.#send(peer, { instants: [], isUnlisted: true })));
    const still = isThere.includes(true) ? await this.#listAnew() : listed;
    for (const { id } of missing) if (!still.has(id)) this.#peers.forget(id);
    await this.#repair();
  }

  #listAnew(): Promise<ReadonlySet<string>> {
    const listing = this.#refreshing.catch(() => {}).then(() => this.#list());
    this.#refreshing = listing;
    return listing;
  }

  /** Takes a message of another process. @throws LayoverError `misdirected`, `closing` */
  async receive({ to, from, instants, beside, isLeaving, isLast, isUnlisted }: ArmMessage): Promise<void> {
    if (to !== this.#options.self.id) throw misdirected();
    if (this.#isLeaving) throw closing();
    if (isLeaving) this.#peers.forget(from.id);
    if (isUnlisted) await this.#listAnew();
    const newcomers = [...(isLeaving ? [] : [from]), ...(beside === undefined ? [] : [beside])].filter((peer) =>
      this.#peers.learn(peer),
    );
    const other = beside?.id ?? (isLeaving ? undefined : from.id);
    await this.#options.alarm(instants);
    this.#copies.add(instants, this.#host.monotonic(), other);
    if (isLast) this.#options.lookAhead();
    if (isLeaving || newcomers.length > 0) void this.#repair();
  }

  /** Hands over before this process ends: everything that rings here is armed in two others, if there are so many. */
  async handOver(): Promise<void> {
    this.#stopPinging?.();
    this.#stopLooking?.();
    this.#isLeaving = true;
    await this.#farewell("handing alarms over", async () => {
      const tell = async () => {
        await Promise.all(this.#peers.all().map((peer) => this.#send(peer, { instants: [] })));
      };
      await Promise.all(this.#peers.silent().map((peer) => this.#ask(peer)));
      await this.#armElsewhere(this.#copies.standing(this.#host.monotonic()));
      await Promise.all([tell(), this.#takeOff()]);
    });
  }

  /** Ends the membership of this process when its work is over. Another process looks for what is left. */
  async leave(): Promise<void> {
    await this.#farewell("taking leave", async () => {
      for (const peer of this.#peers.armable()) if (await this.#send(peer, { instants: [], isLast: true })) return;
    });
  }

  /** Takes this process off the list. */
  async #takeOff(): Promise<void> {
    await this.#refreshing.catch(() => {}); // it may be writing this process down
    if (Number.isFinite(this.#listedAt)) await this.#options.list({ gone: [], silentMs, isLeaving: true });
  }

  async #farewell(doing: string, work: () => Promise<void>): Promise<void> {
    const late = () => lateFarewell(doing, leaveMs);
    await within(this.#host, leaveMs, work(), late).catch((error: unknown) => this.#options.onError(error, doing));
  }

  async #copy(instants: readonly Instant[]): Promise<void> {
    const { added, known } = this.#copies.add(instants, this.#host.monotonic());
    const lacking = known.filter((copy) => copy.arming === undefined && !this.#peers.counts(copy.beside));
    await Promise.all([this.#armElsewhere([...added, ...lacking]), ...known.map(({ arming }) => arming)]);
  }

  /** Arms each copy in another process that no other process rings. */
  async #repair(): Promise<void> {
    if (this.#isLeaving || this.#peers.armable().length === 0) return;
    const copies = this.#copies.standing(this.#host.monotonic());
    await this.#armElsewhere(copies.filter((copy) => copy.arming === undefined && !this.#peers.counts(copy.beside)));
  }

  #armElsewhere(copies: readonly AlarmCopy[]): Promise<void> {
    if (copies.length === 0) return Promise.resolve();
    const arming = this.#sendCopies(copies).finally(() => {
      for (const copy of copies) if (copy.arming === arming) copy.arming = undefined;
    });
    for (const copy of copies) copy.arming = arming;
    return arming;
  }

  /**
   * Arms copies in one other process. If this one is about to end, it does not count, so they are armed in two others.
   */
  async #sendCopies(copies: readonly AlarmCopy[]): Promise<void> {
    const peers = this.#peers.armable().slice(0, mostTries);
    let takers = 0;
    for (const peer of peers) {
      const beside = this.#isLeaving ? peers.find(({ id }) => id !== peer.id) : undefined;
      const isTaken = await this.#send(peer, { instants: distances(copies, this.#host.monotonic()), beside });
      if (!isTaken) continue;
      for (const copy of copies) copy.beside = peer.id;
      takers += 1;
      if (!this.#isLeaving || takers === 2) return;
    }
  }

  async #ping(): Promise<void> {
    const now = this.#host.monotonic();
    const peers = new Set(this.#peers.all().slice(0, 1));
    for (const { beside = "" } of this.#copies.standing(now)) {
      const peer = this.#peers.get(beside);
      if (peer !== undefined) peers.add(peer);
    }
    for (const peer of this.#peers.silent()) peers.add(peer);
    await Promise.all([...peers].map((peer) => this.#ask(peer)));
    await this.#repair();
    const isLookDue = this.#host.monotonic() - this.#lookedAt >= lookMs;
    if (this.#isLeaving || !isLookDue || this.#peers.lostFor(0, now).length === 0) return;
    this.#lookedAt = now;
    this.#options.ring();
  }

  /** Asks whether the process is there. */
  async #ask(peer: Peer): Promise<void> {
    try {
      await this.#options.send(peer, { to: peer.id, from: this.#options.self, instants: [] });
      this.#peers.noteAnswer(peer);
    } catch (error) {
      const now = this.#host.monotonic();
      if (this.#isLeaving || !this.#peers.noteMiss(peer, now)) return;
      this.#options.onError(unreached(peer, error), "asking another process");
      this.#lookedAt = now;
      this.#options.lookAhead();
    }
  }

  /** Sends a message. Answers whether it was taken. */
  async #send(peer: Peer, what: Pick<ArmMessage, "instants" | "beside" | "isLast" | "isUnlisted">): Promise<boolean> {
    const { instants } = what;
    const isLeaving = this.#isLeaving || undefined;
    try {
      for (let from = 0; from === 0 || from < instants.length; from += mostInstants) {
        const some = instants.slice(from, from + mostInstants);
        await this.#options.send(peer, { ...what, to: peer.id, from: this.#options.self, instants: some, isLeaving });
      }
      return true;
    } catch {
      this.#peers.noteSilent(peer); // the next ping tells more
      return false;
    }
  }
}
