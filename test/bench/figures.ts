/** What is measured, and what is aimed at. A scenario that measures something new names it here. */

/** `isComparable`: whether the table shows its ratio to the bound. */
export const figures = {
  stepsPerSecond: { label: "steps/s", digits: 0, isComparable: true },
  hopP50Ms: { label: "hop p50 ms", digits: 2, isComparable: true },
  hopP95Ms: { label: "hop p95 ms", digits: 2, isComparable: false },
  firstHundredMs: { label: "first 100 ms", digits: 0, isComparable: true },
  lastHundredMs: { label: "last 100 ms", digits: 0, isComparable: true },
  firstStartMs: { label: "first start ms", digits: 0, isComparable: false },
  allEndedMs: { label: "all ended ms", digits: 0, isComparable: false },
  endP50Ms: { label: "end p50 ms", digits: 2, isComparable: false },
  endP95Ms: { label: "end p95 ms", digits: 2, isComparable: false },
  retryMs: { label: "retry ms", digits: 0, isComparable: false },
  continuations: { label: "continuations", digits: 2, isComparable: false },
  branchGrowth: { label: "wide/narrow", digits: 2, isComparable: false },
  growth: { label: "last/first", digits: 2, isComparable: false },
  statementsPerStep: { label: "statements", digits: 3, isComparable: false },
  walBytesPerStep: { label: "WAL B", digits: 0, isComparable: true },
  postgresCpuMicrosPerStep: { label: "PG CPU µs", digits: 0, isComparable: true },
  nodeCpuMicrosPerStep: { label: "Node CPU µs", digits: 0, isComparable: true },
} as const;

export type FigureName = keyof typeof figures;
export type Figures = Readonly<Partial<Record<FigureName, number>>>;

/** Iterates in the order of the table above, with its names typed. */
export const figureNames = Object.keys(figures).filter((key): key is FigureName => key in figures);

/** A bound for layover's median: of the figure itself, or of its ratio to the scenario's first contender. */
export interface Aim {
  readonly figure: FigureName;
  readonly of: "itself" | "the ratio to the bound";
  readonly is: "at least" | "at most";
  readonly limit: number;
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)];
  const above = sorted[Math.ceil(place)];
  if (below === undefined || above === undefined) throw new RangeError("There is no quantile of nothing.");
  return below + (above - below) * (place - Math.floor(place));
}

const median = (values: readonly number[]): number => quantile(values, 0.5);

/** Figure by figure, the median of those rounds that have it. */
export function medians(rounds: readonly Figures[]): Figures {
  return Object.fromEntries(
    figureNames.flatMap((name) => {
      const values = rounds.flatMap((round) => round[name] ?? []);
      return values.length > 0 ? [[name, median(values)]] : [];
    }),
  );
}

/** Figure by figure, how the two compare. Both must hold it. */
export function ratios(figures: Figures, reference: Figures): Figures {
  return Object.fromEntries(
    figureNames.flatMap((name) => {
      const value = figures[name];
      const unit = reference[name];
      return value !== undefined && unit !== undefined && unit > 0 ? [[name, value / unit]] : [];
    }),
  );
}
