/** Where runs wait, and what is counted of it beside the statements that its Postgres logs. */
export interface Site {
  readonly databaseUrl: string;
  /** Starts a run that is dispatched at once. */
  start(workflow: string, input: unknown): Promise<void>;
  /** Resolves when a run that slept says that it is awake. */
  untilAwake(withinMs: number): Promise<void>;
  /** What happened so often so far, by the heading of its column. */
  readonly counts: Readonly<Record<string, number>>;
  /** What the platform does each minute, if it does anything. */
  ring?(): Promise<void>;
  end(): Promise<void>;
}

export interface SiteOptions {
  /** Its own; not there any more in the end. */
  readonly folder: string;
  /** Of its Postgres. */
  readonly settings: Readonly<Record<string, string>>;
}
