/** Holds layover's medians against the aims. */

import { type Aim, figures } from "./figures.ts";
import type { Result } from "./rounds.ts";
import type { Scenario } from "./scenario.ts";

export interface Verdict {
  readonly scenario: string;
  readonly contender: string;
  readonly aim: Aim;
  /** Undefined: it was not measured, which counts as missed. */
  readonly value: number | undefined;
  readonly isMet: boolean;
}

/** Nothing, if the contender does not take part in the scenario. */
export function judge(scenario: Scenario, result: Result, contender: string): readonly Verdict[] {
  const standing = result.standings.find((standing) => standing.contender === contender);
  if (standing === undefined) return [];
  return scenario.aims.map((aim) => {
    const value = (aim.of === "itself" ? standing.medians : standing.ratios)[aim.figure];
    const isMet = value !== undefined && (aim.is === "at least" ? value >= aim.limit : value <= aim.limit);
    return { scenario: scenario.name, contender, aim, value, isMet };
  });
}

export function describe({ scenario, contender, aim, value, isMet }: Verdict): string {
  const { label, digits } = figures[aim.figure];
  const unit = aim.of === "itself" ? "" : " × the bound's";
  const measured = value === undefined ? "not measured" : value.toFixed(aim.of === "itself" ? digits : 2) + unit;
  return `${isMet ? "met   " : "MISSED"} (${scenario}) ${contender}, ${label}: ${measured}, aim ${aim.is} ${aim.limit}${unit}`;
}
