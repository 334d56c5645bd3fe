/** What random commands are drawn with: how often a choice is made, and the values that most of them share. */
import fc from "fast-check";
import { day, hour, minute, second } from "./settings.ts";
import type { By } from "./turn-wishes.ts";

export const index = fc.nat(9);
export const run = fc.nat(2);

/** True once in so many times. */
export function seldom(times: number): fc.Arbitrary<boolean> {
  return fc.nat(times - 1).map((n) => n === times - 1);
}

/** The first choice is the usual one. */
export function usually<const T>(times: number, usual: T, ...others: T[]): fc.Arbitrary<T> {
  return fc.nat(times + others.length - 1).map((n) => others[n - times] ?? usual);
}

function optional<T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.option(value, { nil: undefined });
}

export const deadline = optional(fc.constantFrom(0, second, 40 * second, 5 * minute, hour, 3 * day));
export const signalName = fc.constantFrom("red", "blue");

export const by: fc.Arbitrary<By> = usually(3, undefined, "one", "two", "three");

export const isElsewhere = seldom(25);
export const isLate = seldom(25);
export const budget = usually(5, undefined, 0, 1_000, 3_000);
