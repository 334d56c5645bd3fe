/** What happens on a platform that is played, from one look at it to the next. */
export class Tally {
  /** The SQL functions that are called. */
  readonly statements: string[] = [];
  messages = 0;
  deliveries = 0;
  cronRings = 0;
  /** How often the Durable Object is asked, and how many rows it writes. */
  asked = 0;
  writes = 0;
  /** When it rings. */
  readonly ringsAt: number[] = [];

  /** How often each SQL function is called. */
  get counts(): Readonly<Record<string, number>> {
    const groups = Map.groupBy(this.statements, (name) => name);
    return Object.fromEntries([...groups].map(([name, calls]) => [name, calls.length]));
  }
}
