/**
 * The five ports to the outside world. Everything that can fail, be late or happen twice passes
 * through one of them, so a test that controls them controls the world.
 *
 * Four are here: {@link Query}, {@link Dispatch}, {@link Alarm} and {@link HostClock}. The fifth is the user's handler
 * (see contract/contract.ts).
 */

/** A value bound to `$1`, `$2` … Values travel as text; SQL casts them. */
export type Parameter = string | number | null;

export type Row = Readonly<Record<string, unknown>>;

/**
 * Sends one statement to Postgres and answers its rows. Columns of type `json` arrive parsed.
 *
 * Rejects with a {@link QueryError}. Sending the same call again is always safe: every layover
 * function is repeatable.
 */
export interface Query {
  /** Carries out the transaction of a step. Undefined: this way to the database has none. */
  readonly transact?: Transact | undefined;
  /** Encrypts what is stored (`layover/encryption`), or keeps large values elsewhere (`layover/store`). Undefined: it is stored as it is. */
  readonly sealing?: Sealing | undefined;
  (text: string, parameters?: readonly Parameter[]): Promise<readonly Row[]>;
  /**
   * The database that the address leads to: `host/database`, without credentials or port. A namespace knows the
   * addresses of its database. From another address it is refused until somebody adopts that address.
   */
  readonly endpoint: string;
}

/** Seals the values of what is sent to a function of SQL, and opens those of its answer. `name`: that of the function. */
export interface Sealing {
  /** The store that keeps large values (`layover/store`). Undefined: the database keeps all values. */
  readonly store?: LargeValues | undefined;
  /** Makes one that seals what the other one has sealed. Undefined: the other one takes its place. */
  readonly upon?: ((other: Sealing) => Sealing) | undefined;
  /** `query`: for what the database must know before. */
  seal<Call extends { readonly namespace: string }>(name: string, call: Call, query: Query): Promise<Call>;
  /** Opens all values of an answer. A value that cannot be opened is answered as a text that says why, and that is no value. */
  open<Answer>(name: string, call: { readonly namespace: string }, answer: Answer): Promise<Answer>;
}

export interface LargeValues {
  /** Larger values are kept there, in bytes of stored text in UTF-8. */
  readonly above: number;
  /** The most bytes of one value, as stored text in UTF-8. */
  readonly mostBytes: number;
  /** The most bytes of values that one answer of the database brings. */
  readonly memoryBytes: number;
  /** Deletes values that no run holds. What is not there is deleted. */
  delete(keys: readonly string[]): Promise<void>;
}

/** The transaction of a `step.transaction`, by your database's driver. It works until the body ends. */
export interface TransactionClient {
  /**
   * Adds a statement whose rows nobody needs. It is sent in its turn, at the latest with the step's record. If Postgres
   * refuses it, the attempt has failed.
   */
  write(text: string, values?: readonly unknown[]): void;
  /**
   * Sends one statement. Its rows have the types that the driver gives them. Neon over HTTP has only `write`.
   *
   * @throws LayoverError `transactions_unavailable` where the driver cannot answer amid a transaction
   */
  query(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[] }>;
}

/**
 * Carries out `work` in a transaction of isolation read committed, and commits it. `send` sends a statement of layover's own
 * in it. Each statement may take `limitMs`.
 *
 * Rejects with an {@link UnknownCommit} if it may have been committed. After any other rejection it is rolled back.
 */
export type Transact = <Result>(
  limitMs: number,
  work: (
    client: TransactionClient,
    send: (text: string, parameters: readonly Parameter[]) => Promise<readonly Row[]>,
  ) => Promise<Result>,
) => Promise<Result>;

/** Nobody knows whether a transaction was committed. */
export class UnknownCommit extends Error {
  override readonly name = "UnknownCommit";
}

/** Why a statement failed. */
export class QueryError extends Error {
  override readonly name = "QueryError";
  /** Postgres' five-character code, where Postgres itself answered. */
  readonly sqlState: string | undefined;
  /** Whether it is certain that the statement took no effect. False: it may have committed. */
  readonly isRolledBack: boolean;

  constructor(message: string, options: { sqlState?: string; isRolledBack: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.sqlState = options.sqlState;
    this.isRolledBack = options.isRolledBack;
  }
}

/** Names one turn to carry out: of a run, or (with `branch`) of one of its branches. */
export interface TurnRef {
  readonly runId: string;
  /** The turn's number; a claim that names another one is answered `stale`. */
  readonly turn: number;
  readonly branch?: { readonly path: string; readonly occurrence: number };
  /** Whether it goes in an invocation of its own, because so many claims of it in a row were never finished. */
  readonly alone?: boolean;
  /** The most turns that its invocation may have, for the same reason (see groups.ts). Left out: any number. */
  readonly groupSize?: number;
}

/**
 * Asks the platform for an invocation that carries out these turns, now or after `delayMs`.
 * It only makes things fast: if a dispatch is lost, nothing is lost.
 */
export type Dispatch = (turns: readonly TurnRef[], delayMs: number) => Promise<void>;

/**
 * Arms alarms for these instants. Each alarm rings at its instant or at most two minutes later, and a tick follows.
 * Resolves once the alarms are certain to ring. Instants are by the database's clock, in epoch milliseconds; `inMs` is
 * the distance from now.
 */
export type Alarm = (instants: readonly { readonly at: number; readonly inMs: number }[]) => Promise<void>;

/**
 * Tells how time passes on the host, and is the only way to wait. What time it is, the database alone says (see
 * postgres/database-clock.ts). Tests turn this clock by hand.
 */
export interface HostClock {
  /** Milliseconds since some fixed moment. They never go back. */
  monotonic(): number;
  /** Runs `act` after `ms`. The function that it answers cancels that. */
  after(ms: number, act: () => void): () => void;
}

/**
 * The clock of a host that tells the time of day, too. Only platforms read that, since their own limits and alarms are
 * instants of it. It may be wrong, and anybody may set it.
 */
export interface WallClock extends HostClock {
  /** The time of day, in epoch milliseconds. */
  now(): number;
}
