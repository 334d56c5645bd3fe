/** What may come of a part, and what that makes of the whole it is a part of. */
import { isDeepStrictEqual } from "node:util";
import { holding, type Thrown } from "./thrown.ts";

export type Match<Found> = (found: Found) => boolean;

export interface Prospects {
  /** Undefined: it never returns. */
  readonly returns: Match<unknown> | undefined;
  /** Undefined: it never throws. */
  readonly throws: Match<Thrown> | undefined;
  /** It may wait for ever. */
  readonly mayHang: boolean;
}

export function returning(returns: Match<unknown>): Prospects {
  return { returns, throws: undefined, mayHang: false };
}

export function throwing(throws: Match<Thrown>): Prospects {
  return { returns: undefined, throws, mayHang: false };
}

export function exactly(value: unknown): Match<unknown> {
  return (found) => isDeepStrictEqual(found, value);
}

/** One of them, nobody knows which. */
export function eitherOf<Found>(matches: readonly (Match<Found> | undefined)[]): Match<Found> | undefined {
  const possible = matches.filter((match) => match !== undefined);
  return possible.length === 0 ? undefined : (found) => possible.some((match) => match(found));
}

/** A list, its items matched one by one. */
export function listOf(matches: readonly Match<unknown>[]): Match<unknown> {
  return (found) =>
    Array.isArray(found) && found.length === matches.length && matches.every((match, index) => match(found[index]));
}

/** Any of these beginnings is a list that may be returned: after each it may have been enough. */
export function someOf(matches: readonly Match<unknown>[]): Match<unknown> | undefined {
  return eitherOf(matches.map((_, index) => listOf(matches.slice(0, index + 1))));
}

/** Either of two, each with all that may come of it. */
export function oneOf(list: readonly Prospects[]): Prospects {
  return {
    returns: eitherOf(list.map(({ returns }) => returns)),
    throws: eitherOf(list.map(({ throws }) => throws)),
    mayHang: list.some(({ mayHang }) => mayHang),
  };
}

/** One after the other. Those that are never reached are left out of `reached`. */
export function inTurn(list: readonly Prospects[]): Omit<Prospects, "returns"> & { reached: Match<unknown>[] } {
  const reached: Match<unknown>[] = [];
  const begun: Prospects[] = [];
  for (const each of list) {
    begun.push(each);
    if (each.returns === undefined) break;
    reached.push(each.returns);
  }
  const { throws, mayHang } = oneOf(begun);
  return { reached, throws, mayHang };
}

/** Side by side, all of them awaited; the first failure is thrown. */
export function together(list: readonly Prospects[]): Prospects {
  const { throws, mayHang } = oneOf(list);
  const returns = list.flatMap((each) => each.returns ?? []);
  return {
    returns: returns.length === list.length ? listOf(returns) : undefined,
    throws,
    mayHang: mayHang && list.every((each) => each.returns !== undefined || each.mayHang),
  };
}

/** Side by side, and the first to settle settles them. */
export function firstOf(list: readonly Prospects[]): Prospects {
  return { ...oneOf(list), mayHang: list.every(({ mayHang }) => mayHang) };
}

/** Side by side, and each tells how it ended. */
export function settledOf(list: readonly Prospects[]): Prospects {
  return together(list.map(settled));
}

function settled({ returns, throws, mayHang }: Prospects): Prospects {
  const ok: Match<unknown> | undefined =
    returns &&
    ((found) => isDeepStrictEqual(Object.keys(Object(found)), ["ok"]) && returns(Reflect.get(Object(found), "ok")));
  return { returns: eitherOf([ok, throws && holding("failed", throws)]), throws: undefined, mayHang };
}
