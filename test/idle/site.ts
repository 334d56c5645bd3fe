/** Where runs wait, and what is counted of it beside the statements that its Postgres logs. */
export interface Site {
  readonly databaseUrl: string;
  /** Starts a run that is dispatched at once. */
  start(workflow: string, input: unknown): Promise<void>;
  /** Resolves when a run that slept says that it is awake. */
  untilAwake(withinMs: number): Promise<void>;
  /** How often each thing has happened so far, by the heading of its column. */
  readonly counts: Readonly<Record<string, number>>;
  /** Does what the platform does each minute, if it does anything. */
  ring?(): Promise<void>;
  /** How long before a run is due somebody looks at it at most, in milliseconds. Default: 0. */
  readonly earlyMs?: number;
  /** How much later than its minute an alarm may ring, in milliseconds. Default: 0. */
  readonly alarmsLateMs?: number;
  end(): Promise<void>;
}

export interface SiteOptions {
  /** A folder for this site alone, which is removed in the end. */
  readonly folder: string;
  /** Settings of its Postgres, by name. */
  readonly settings: Readonly<Record<string, string>>;
}
