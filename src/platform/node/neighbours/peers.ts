/** The other processes that a process knows, and whether it reaches them. */
import type { Peer } from "../../../http/arm.ts";

interface Known {
  readonly peer: Peer;
  /** How many calls in a row it did not answer. */
  misses: number;
  /** When it began to count as lost, by the host's monotonic clock. */
  lostAt: number | undefined;
}

/** The number of calls without an answer after which a process counts as lost. */
const mostMisses = 2;

export class Peers {
  readonly #self: Peer;
  readonly #known = new Map<string, Known>();

  constructor(self: Peer) {
    this.#self = self;
  }

  /** Adds a process. Answers whether it is new. */
  learn(peer: Peer): boolean {
    if (peer.id === this.#self.id || this.#known.has(peer.id)) return false;
    this.#known.set(peer.id, { peer, misses: 0, lostAt: undefined });
    return true;
  }

  forget(id: string): void {
    this.#known.delete(id);
  }

  get(id: string): Peer | undefined {
    return this.#known.get(id)?.peer;
  }

  /**
   * All of them. The first is the one that follows this process by its id, so each process is the first one of another.
   */
  all(): readonly Peer[] {
    const peers = [...this.#known.values()].map(({ peer }) => peer).sort((a, b) => (a.id < b.id ? -1 : 1));
    return [...peers.filter(({ id }) => id > this.#self.id), ...peers.filter(({ id }) => id < this.#self.id)];
  }

  /**
   * The processes in which this one may arm: those that answered the last call. First come those that carry everything
   * that this process carries, since no process looks for runs that it does not carry.
   */
  armable(): readonly Peer[] {
    const peers = this.all().filter(({ id }) => this.#known.get(id)?.misses === 0);
    return [...peers.filter((peer) => this.#carries(peer)), ...peers.filter((peer) => !this.#carries(peer))];
  }

  /** Whether an instant that was armed there counts. If not, it must be armed in another process. */
  counts(id: string | undefined): boolean {
    const known = id === undefined ? undefined : this.#known.get(id);
    if (known === undefined || known.lostAt !== undefined) return false;
    return this.#carries(known.peer) || !this.armable().some((peer) => this.#carries(peer));
  }

  /** The processes that did not answer the last call. */
  silent(): readonly Peer[] {
    return [...this.#known.values()].filter(({ misses }) => misses > 0).map(({ peer }) => peer);
  }

  /** Ids of the processes that have counted as lost for so long. */
  lostFor(ms: number, now: number): readonly string[] {
    return [...this.#known.values()].flatMap(({ peer, lostAt }) =>
      lostAt !== undefined && now - lostAt >= ms ? [peer.id] : [],
    );
  }

  noteAnswer({ id }: Peer): void {
    const known = this.#known.get(id);
    if (known !== undefined) Object.assign(known, { misses: 0, lostAt: undefined });
  }

  /** Notes that a process did not take a message. Nothing is armed there until it answers. */
  noteSilent({ id }: Peer): void {
    const known = this.#known.get(id);
    if (known !== undefined) known.misses = Math.max(known.misses, 1);
  }

  /** Counts a call without an answer. Answers whether the process counts as lost since this call. */
  noteMiss({ id }: Peer, now: number): boolean {
    const known = this.#known.get(id);
    if (known === undefined) return false;
    known.misses += 1;
    if (known.lostAt !== undefined || known.misses < mostMisses) return false;
    known.lostAt = now;
    return true;
  }

  #carries(peer: Peer): boolean {
    return Object.entries(this.#self.versions).every(([workflow, versions]) =>
      versions.every((version) => peer.versions[workflow]?.includes(version) === true),
    );
  }
}
