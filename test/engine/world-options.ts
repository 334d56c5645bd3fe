/** What a world is made of, and what a test may do to its calls. */
import type { Schedule, Workflow } from "layover";
import { type EncryptionKeys, encrypted } from "layover/encryption";
import { type StoreOptions, withStore } from "layover/store";
import type { Query } from "../../src/core/ports.ts";
import type { Port } from "./mortal.ts";
import type { ProcessOptions } from "./process.ts";

/** A call that passes a port. */
export interface PortCall {
  readonly port: Port;
  readonly what: string;
  /** Counted from 1, at each port. */
  readonly number: number;
}

/**
 * Says what becomes of a call. A call that `fails before` or `dies before` took no effect. A call that `fails after` or `dies after` took it.
 * A call that `is never answered` took effect. A call that `is answered late` took effect, too: its answer comes 14 s later.
 */
export type Fate =
  | "passes"
  | "fails before"
  | "fails after"
  | "dies before"
  | "dies after"
  | "is never answered"
  | "is answered late";

export interface WorldOptions
  extends Partial<
    Pick<
      ProcessOptions,
      | "hasNoAddress"
      | "timeOfDay"
      | "warmRuns"
      | "invocation"
      | "environment"
      | "deployment"
      | "leaseMs"
      | "keepMs"
      | "keepFailedMs"
      | "claimBytes"
      | "hasTimeFor"
      | "telemetry"
      | "together"
    >
  > {
  readonly workflows: readonly Workflow[];
  readonly schedules?: readonly Schedule[];
  /** Encrypts. Default: nothing is encrypted. */
  readonly keys?: EncryptionKeys | undefined;
  /** Keeps large values. Default: the database does. */
  readonly values?: StoreOptions | undefined;
  readonly seed?: number;
  /** Whatever may happen next happens in a random order. Default: as it came, one invocation after the other. */
  readonly isShuffled?: boolean;
  /**
   * "cloud": alarms outlive the process. "node": they die with it, and the next one begins with a tick. "embedded": and
   * it voids all leases before, since nobody else uses its database.
   */
  readonly platform?: "cloud" | "node" | "embedded";
  /** Deployments of other code that are alive beside the first one, each with a process of its own. */
  readonly beside?: readonly (Required<Pick<ProcessOptions, "workflows" | "deployment">> &
    Pick<ProcessOptions, "schedules"> &
    Pick<WorldOptions, "keys">)[];
  /** How many processes share the work, in turns. */
  readonly processes?: number;
  /** How much may happen. Default: 50,000 events. */
  readonly mostEvents?: number;
  /** How many turns one invocation takes. Default: those that were dispatched together. */
  readonly batch?: number;
  readonly endpoint?: string;
  /** Two worlds of the same number and seed have the same ids; so one must have ended before. */
  readonly number?: number;
}

/** The database as the options have it: encrypted, with a store, or as it is. */
export function wrapped(query: Query, { keys, values }: Pick<WorldOptions, "keys" | "values">): Query {
  const sealed = keys === undefined ? query : encrypted(query, keys);
  return values === undefined ? sealed : withStore(sealed, values);
}
