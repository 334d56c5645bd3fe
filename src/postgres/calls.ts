/**
 * What TypeScript calls in Postgres: one method for each SQL function. How each call is sent is said in
 * calls/call-sender.ts, which has the SQL text of all but one (calls/client-calls.ts, for a start within a user's
 * transaction). Other SQL text is that of `migrate`, its checks and the drivers.
 */
import type { LargeValues, Query } from "../core/ports.ts";
import type { Alarms } from "./alarms.ts";
import { CallSender, type CallsOptions } from "./calls/call-sender.ts";
import { type ClientCalls, clientCalls } from "./calls/client-calls.ts";
import { type OperatorCalls, operatorCalls } from "./calls/operator-calls.ts";
import { type SchedulerCalls, schedulerCalls } from "./calls/scheduler-calls.ts";
import { type TurnCalls, turnCalls } from "./calls/turn-calls.ts";
import type { DatabaseClock } from "./database-clock.ts";

export interface Calls extends TurnCalls, SchedulerCalls, ClientCalls, OperatorCalls {
  readonly clock: DatabaseClock;
  readonly alarms: Alarms;
  /** The address of the database. */
  readonly endpoint: string;
  /** Carries out the transaction of a step. Undefined: the database's driver has none. */
  readonly transact: Query["transact"];
  /** The store that keeps large values. Undefined: the database keeps all values. */
  readonly store: LargeValues | undefined;
  /** Answers the database's time, and asks for it if no answer has told it yet. */
  now(): Promise<number>;
  /** Does the same for a call that makes a run. Where that must be armed, arming begins meanwhile. */
  nowForNewRun(): Promise<number>;
  /**
   * Makes the calls of the holder of this API key. Once the key is revoked, each call of a verb (`ClientCalls`) is
   * refused (LO005) by the very statement that would carry it out.
   */
  by(keyId: string, sessionId?: string): Calls;
}

export function makeCalls(options: CallsOptions): Calls {
  return callsOf(new CallSender(options));
}

function callsOf(sender: CallSender): Calls {
  const { clock, alarms } = sender;
  const own = {
    clock,
    alarms,
    get endpoint() {
      return sender.endpoint;
    },
    get transact() {
      return sender.transact;
    },
    get store() {
      return sender.store;
    },
    now: () => sender.now(),
    nowForNewRun: () => sender.nowArming(),
    by: (keyId: string, sessionId?: string) => callsOf(sender.by({ keyId, sessionId })),
  };
  return Object.assign(own, turnCalls(sender), schedulerCalls(sender), clientCalls(sender), operatorCalls(sender));
}
