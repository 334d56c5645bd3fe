/** One process that carries out turns: a real engine and a real client over ports that the world holds. */

import type { Workflow } from "layover";
import { Client } from "../../src/client/over-postgres/client.ts";
import type { CallbackRef, OpenCallback, SealCallback } from "../../src/core/contract/callback.ts";
import type { Schedule } from "../../src/core/contract/schedule.ts";
import { groupSizeOf, isSuspect } from "../../src/core/groups.ts";
import type { Alarm, Dispatch, TurnRef } from "../../src/core/ports.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { EngineOptions } from "../../src/engine/options.ts";
import { Registry } from "../../src/engine/registry.ts";
import type { TickAnswer, TickOptions } from "../../src/engine/scheduler/tick.ts";
import { type Calls, makeCalls } from "../../src/postgres/calls.ts";
import { atWork, Mortal, type MortalOptions } from "./mortal.ts";

/** How a process asks the platform for invocations and ticks. */
export interface Ports {
  readonly dispatch: Dispatch;
  readonly alarm: Alarm;
}

export interface ProcessOptions
  extends MortalOptions,
    Pick<
      EngineOptions,
      | "warmRuns"
      | "invocation"
      | "environment"
      | "onLog"
      | "onError"
      | "onEvent"
      | "leaseMs"
      | "keepMs"
      | "keepFailedMs"
      | "requestId"
      | "claimBytes"
      | "hasTimeFor"
      | "timeOfDay"
      | "telemetry"
    > {
  /** Makes what the engine rings by at other deployments. Left out: it rings nowhere. */
  readonly ringing?: ((process: Process) => NonNullable<EngineOptions["ringAt"]>) | undefined;
  /** What makes the tokens of callbacks, and reads them. Left out: tokens that a test can read. */
  readonly callbacks?: { readonly seal: SealCallback; readonly open: OpenCallback } | undefined;
  readonly workflows: readonly Workflow[];
  readonly schedules?: readonly Schedule[] | undefined;
  /** The deployment has no public URL: callbacks cannot be made. */
  readonly hasNoAddress?: boolean | undefined;
  readonly namespace: string;
  readonly ports: (process: Mortal) => Ports;
  readonly random: () => number;
  readonly newToken: () => string;
}

export class Process extends Mortal {
  readonly engine: Engine;
  readonly client: Client;
  readonly calls: Calls;
  readonly #environment: string;

  constructor(options: ProcessOptions) {
    super(options);
    const {
      ports,
      hasNoAddress,
      namespace,
      ringing,
      callbacks = { seal, open },
      workflows,
      schedules,
      ...engine
    } = options;
    this.#environment = options.environment ?? "default";
    const { dispatch, alarm } = ports(this);
    const { query, timers: host } = this;
    this.calls = makeCalls({ query, namespace, alarm, host });
    this.engine = new Engine({
      ...engine,
      registry: new Registry(workflows, schedules),
      calls: this.calls,
      dispatch,
      ringAt: ringing?.(this),
      sealCallback: hasNoAddress ? undefined : callbacks.seal,
      host,
      atRest: () => this.rest(),
    });
    this.client = new Client({
      calls: this.calls,
      dispatch,
      wake: async (readyUntil) => void (await this.engine.tick({ readyUntil, isRung: readyUntil !== undefined })),
      openCallback: callbacks.open,
      host,
      traceparent: options.telemetry?.traceparent,
    });
  }

  override request<Answer>(question: (client: Client) => Promise<Answer>): Promise<Answer> {
    return question(this.client);
  }

  /** As a host does it: it notes that the first tick of a deployment has done its work. */
  async tick(options: TickOptions = {}): Promise<TickAnswer> {
    const answer = await this.engine.tick(options);
    const { hasSeenAll, triedThrough } = answer;
    if ((!hasSeenAll && triedThrough === undefined) || this.deployment === undefined) return answer;
    const { name: deploymentName, id: deployment } = this.deployment;
    const environment = this.#environment;
    await this.calls.noteDeployment({ environment, deploymentName, deployment, note: "looked", triedThrough });
    return answer;
  }

  /** Answers as the engine does: whether it could claim. Never, where the process dies over it. */
  async carryOut(turns: readonly TurnRef[]): Promise<boolean> {
    const isGroup = turns.some(isSuspect);
    this.hasGroup ||= isGroup;
    const answer = await atWork.run(this, () => this.engine.carryOut(turns));
    if (isGroup) this.hasGroup = false;
    return answer;
  }

  /**
   * Whether an invocation may begin here: what may have killed its process before is to meet none of its kind, and a
   * process whose results the database does not take claims nothing.
   */
  takes(turns: readonly TurnRef[]): boolean {
    if (this.isDead || this.isBeginning || this.engine.isHolding) return false;
    return !(this.hasGroup && turns.some(isSuspect));
  }
}

/** Where nothing stands between the engine and the world outside. */
export function bare({ dispatch, alarm }: Ports): ProcessOptions["ports"] {
  return (process) => ({
    dispatch: (turns, delayMs) =>
      process.ask("dispatch", turns.map(describeTurn).join(), () => dispatch(turns, delayMs)),
    alarm: (instants) =>
      process.ask("alarm", instants.map(({ at }) => new Date(at).toISOString()).join(), () => alarm(instants)),
  });
}

export function describeTurn(ref: TurnRef): string {
  const { turn, branch } = ref;
  const size = groupSizeOf(ref);
  const group = size === undefined ? "" : size === 1 ? " alone" : ` in a group of ${size}`;
  return `${branch === undefined ? "run" : `${branch.path}#${branch.occurrence}`}@${turn}${group}`;
}

/** Tokens that a test can read. How real ones are made is tested with them. */
export const seal: SealCallback = (ref) => {
  const token = Buffer.from(JSON.stringify(ref)).toString("base64url");
  return { token, url: `https://example.com/callbacks/${token}` };
};

/** It never ends: a client that does not know the database's time yet would judge that by this machine's clock. */
function open(token: string): CallbackRef | undefined {
  const { endsAt: _, ...ref } = JSON.parse(Buffer.from(token, "base64url").toString());
  return ref;
}
