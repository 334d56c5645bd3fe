/**
 * The limits that all requests of one process share: on the bytes of bodies, and on long lists at once. Where each request has
 * an app of its own, all of these apps get the same rooms.
 *
 * A host may drop a request without a word, as Cloudflare does when the client goes away. Then no code runs that gives back
 * what the request took. So what was taken counts for a limited time.
 */
import type { WallClock } from "../core/ports.ts";
import { hostClock } from "../postgres/host-clock.ts";

export class Room {
  readonly most: number;
  readonly host: WallClock;
  readonly #shares = new Map<object, { readonly size: number; readonly until: number }>();
  /** The size of all shares together. */
  #taken = 0;
  /** No share is over before. So requests that are refused cost no look at all shares. */
  #noneBefore = Number.POSITIVE_INFINITY;

  /** @param most how much may be taken at once */
  constructor(most: number, host: WallClock) {
    this.most = most;
    this.host = host;
  }

  /**
   * Gives `who` a share of this size, in place of an earlier one, for `ms` at most. Answers false if there is no room.
   * There always is where nobody else has a share.
   */
  take(who: object, size: number, ms: number): boolean {
    const now = this.host.monotonic();
    if (!this.#fits(who, size)) this.#dropOver(now);
    if (!this.#fits(who, size)) return false;
    this.leave(who);
    this.#shares.set(who, { size, until: now + ms });
    this.#taken += size;
    this.#noneBefore = Math.min(this.#noneBefore, now + ms);
    return true;
  }

  leave(who: object): void {
    this.#taken -= this.#shares.get(who)?.size ?? 0;
    this.#shares.delete(who);
  }

  #fits(who: object, size: number): boolean {
    const others = this.#taken - (this.#shares.get(who)?.size ?? 0);
    return others === 0 || others + size <= this.most;
  }

  #dropOver(now: number): void {
    if (now < this.#noneBefore) return;
    this.#noneBefore = Number.POSITIVE_INFINITY;
    for (const [owner, { until }] of this.#shares) {
      if (until <= now) this.leave(owner);
      else this.#noneBefore = Math.min(this.#noneBefore, until);
    }
  }
}

export interface Rooms {
  /** The bytes of bodies that are in memory. */
  readonly bodies: Room;
  /** The lists and histories that are read. */
  readonly heavy: Room;
}

/** Some 30 bodies, each with the largest value that can be stored. */
const mostBodyBytes = 32 * 1024 * 1024;

/** A pool of node-postgres has ten connections by default. */
const mostHeavy = 3;

export function newRooms(host: WallClock = hostClock, bodyBytes = mostBodyBytes): Rooms {
  return { bodies: new Room(bodyBytes, host), heavy: new Room(mostHeavy, host) };
}
