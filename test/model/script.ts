/**
 * A sequence as it will be played: every call, what it should answer, and what should be found in the tables after it.
 * Nothing is sent while it is written; the reference model says what would happen.
 */
import { type Facts, factsOf } from "./facts.ts";
import type { Called } from "./mail.ts";
import { anyOf } from "./match.ts";
import { callMs } from "./settings.ts";
import { aWorld, type World } from "./world.ts";

export interface Step {
  readonly now: number;
  /** A function of `layover`, or one of the test's own hands: `flood`, `cancel`. */
  readonly fn: string;
  readonly p: unknown;
  /** Number of the signal that the call may store. */
  readonly number: number;
  readonly lateUntil: number;
  /** All instants that were armed up to now. */
  readonly armed: readonly number[];
  readonly words: string;
  readonly expected: unknown;
  readonly facts: Facts;
}

const tooLate = { sqlState: "LO002" };

export class Script {
  readonly steps: Step[] = [];
  #world: World;

  /** `ids`: the ids of the runs A, B and C. */
  constructor(name: string, ids: readonly string[]) {
    this.#world = aWorld(name, ids);
  }

  get world(): World {
    return this.#world;
  }

  /**
   * Adds a call that must not take effect after its time. If it is late it changes nothing: it answers that it is
   * late, or that there was nothing to do.
   */
  call(fn: string, p: object, words: string, isLate: boolean, act: (world: World) => Called, number = 0): void {
    const before = isLate ? structuredClone(this.#world) : undefined;
    const { answer, hasEffect } = act(this.#world);
    if (before === undefined) {
      this.add(fn, { ...p, notAfter: this.#latest(number) }, words, answer, number);
      return;
    }
    this.#world = before;
    const mayAnswer = !hasEffect || "sqlState" in answer;
    const expected = anyOf(tooLate, ...(mayAnswer ? [answer] : []));
    this.add(fn, { ...p, notAfter: before.now - 1 }, `too late: ${words}`, expected, number);
  }

  /** Answers the last instant at which the call may take effect. Sometimes that is now, which is not too late. */
  #latest(number: number): number {
    return this.#world.now + (number % 2 === 0 ? callMs : 0);
  }

  add(fn: string, p: unknown, words: string, expected: unknown, number = 0): void {
    const { now, lateUntil, armed } = this.#world;
    this.steps.push({ now, fn, p, number, lateUntil, armed, words, expected, facts: factsOf(this.#world) });
  }

  /** Answers the run's own namespace, or the other one for a call from elsewhere. */
  namespace(isElsewhere: boolean, own = this.#world.namespaces[0]): string {
    const [one, two] = this.#world.namespaces;
    return isElsewhere ? (own === one ? two : one) : own;
  }

  letter(runId: string | undefined): string {
    return "ABC"[this.#world.ids.indexOf(runId ?? "")] ?? "nobody";
  }
}

/** Picks the item that a wish means, among those that there are. */
export function pick<Item>(items: readonly Item[], index: number): Item | undefined {
  return items[index % Math.max(1, items.length)];
}

interface LockItem {
  readonly runId: string;
  readonly path?: string;
  readonly occurrence?: number;
}

/** Carries items out in the order in which locks are taken. Answers the results in the order of the call. */
export function inLockOrder<Item extends LockItem, Result>(
  items: readonly Item[],
  act: (item: Item) => Result,
): Result[] {
  const order = items.map((item, place) => ({ item, place }));
  order.sort((one, other) => compare(keyOf(one.item), keyOf(other.item)) || one.place - other.place);
  const results = new Map(order.map(({ item, place }) => [place, act(item)]));
  return items.flatMap((_, place) => results.get(place) ?? []);
}

function keyOf({ runId, path = "", occurrence = 0 }: LockItem): string {
  return `${runId} ${path} ${occurrence}`;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
