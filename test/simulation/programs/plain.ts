/** JavaScript's own `Promise.all`, `allSettled`, `race` and `any`. What they leave behind goes on until the run is over. */
import type { Program, Verb } from "./part.ts";
import { playAt, prospectsAt, several, wordsAt } from "./parts.ts";
import { eitherOf, firstOf, type Prospects, settledOf, together } from "./prospects.ts";
import { settled } from "./settled.ts";
import type { Thrown } from "./thrown.ts";
import { block, promise } from "./words.ts";

const combinators = {
  all: {
    play: (promises) => Promise.all(promises),
    prospects: together,
  },
  allSettled: {
    play: async (promises) => (await Promise.allSettled(promises)).map(settled),
    prospects: settledOf,
  },
  race: {
    play: (promises) => Promise.race(promises),
    prospects: firstOf,
  },
  any: {
    play: (promises) => Promise.any(promises),
    prospects: (list) => {
      const failures = list.flatMap(({ throws }) => throws ?? []);
      return {
        returns: eitherOf(list.map(({ returns }) => returns)),
        throws: failures.length === list.length ? (thrown) => isAggregate(thrown, list.length) : undefined,
        mayHang: list.some(({ mayHang }) => mayHang) && list.every(({ throws, mayHang }) => throws || mayHang),
      };
    },
  },
} satisfies Record<
  string,
  { play(promises: Promise<unknown>[]): Promise<unknown>; prospects(list: Prospects[]): Prospects }
>;

function isAggregate({ name, errors }: Thrown, count: number): boolean {
  return name === "AggregateError" && errors?.length === count;
}

export function plainly(verb: keyof typeof combinators, parts: readonly Program[]): Program {
  const { play, prospects } = combinators[verb];
  return {
    kind: `Promise.${verb}`,
    parts,
    play: (playing) => play(playAt(parts, playing)),
    prospects: (judging) => prospects(prospectsAt(parts, judging)),
    inWords: (at) => block(`await Promise.${verb}([`, wordsAt(parts, at).map(promise), "])"),
  };
}

function verbOf(verb: keyof typeof combinators): Verb {
  return { weight: 1, arbitrary: (inner) => several(inner).map((parts) => plainly(verb, parts)) };
}

function orderlyVerbOf(verb: keyof typeof combinators): Verb {
  return { ...verbOf(verb), orderly: verbOf(verb).arbitrary };
}

export const plain = [orderlyVerbOf("all"), orderlyVerbOf("allSettled"), verbOf("race"), verbOf("any")];
