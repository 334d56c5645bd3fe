/** The other processes that a process knows, and which of them it reaches. */
import type { Peer } from "../http/arm.ts";

interface Known {
  readonly peer: Peer;
  /** How many calls in a row were not answered. */
  misses: number;
  /** Since when it counts as lost, by the host's monotonic clock. */
  lostAt: number | undefined;
}

/** After so many calls without an answer a process counts as lost. */
const mostMisses = 2;

export class Peers {
  readonly #self: Peer;
  readonly #known = new Map<string, Known>();

  constructor(self: Peer) {
    this.#self = self;
  }

  /** Answers whether it is new. */
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

  /** Beginning with the one that follows this process by its id, so that each process is the first one of another. */
  all(): readonly Peer[] {
    const peers = [...this.#known.values()].map(({ peer }) => peer).sort((a, b) => (a.id < b.id ? -1 : 1));
    return [...peers.filter(({ id }) => id > this.#self.id), ...peers.filter(({ id }) => id < this.#self.id)];
  }

  /**
   * Where this process may arm: who answered the last call. First come those that carry all that this process does: another
   * one does not look for what it does not carry.
   */
  places(): readonly Peer[] {
    const peers = this.all().filter(({ id }) => this.#known.get(id)?.misses === 0);
    return [...peers.filter((peer) => this.#carries(peer)), ...peers.filter((peer) => !this.#carries(peer))];
  }

  /** Whether what was armed there counts, or is to get another place. */
  counts(id: string | undefined): boolean {
    const known = id === undefined ? undefined : this.#known.get(id);
    if (known === undefined || known.lostAt !== undefined) return false;
    return this.#carries(known.peer) || !this.places().some((peer) => this.#carries(peer));
  }

  /** Who did not answer the last call. */
  suspects(): readonly Peer[] {
    return [...this.#known.values()].filter(({ misses }) => misses > 0).map(({ peer }) => peer);
  }

  /** Who counts as lost, and has for so long. */
  lostFor(ms: number, now: number): readonly string[] {
    return [...this.#known.values()].flatMap(({ peer, lostAt }) =>
      lostAt !== undefined && now - lostAt >= ms ? [peer.id] : [],
    );
  }

  noteAnswer({ id }: Peer): void {
    const known = this.#known.get(id);
    if (known !== undefined) Object.assign(known, { misses: 0, lostAt: undefined });
  }

  /** Nothing may be armed there until it answers. */
  suspect({ id }: Peer): void {
    const known = this.#known.get(id);
    if (known !== undefined) known.misses = Math.max(known.misses, 1);
  }

  /** Answers whether it counts as lost from now on, and did not before. */
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
