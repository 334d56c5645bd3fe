/** What one value, name, duration or history may measure. Units stand in the names. */
export const defaultLimits = {
  /** The most bytes of one input, result, signal or error, as stored text in UTF-8. */
  valueBytes: 1024 * 1024,
  /** How many objects and arrays may lie within each other. A Map counts as the array of its entries. */
  valueDepth: 1_000,
  /** The most bytes of what a run says of itself, as stored text in UTF-8. */
  statusBytes: 1024,
  historyRecords: 10_000,
  historyBytes: 16 * 1024 * 1024,
  /** The most characters of a name, as Postgres counts them: code points. */
  nameLength: 200,
  /** The most bytes of a step's name together with the names of all scopes around it, in UTF-8. */
  pathBytes: 2_000,
  /** Ten years, however many leap days they have. */
  durationMs: 3_653 * 24 * 60 * 60 * 1_000,
} as const;

export type Limits = { readonly [Limit in keyof typeof defaultLimits]: number };
