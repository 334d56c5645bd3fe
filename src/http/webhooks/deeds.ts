/** What a delivery makes layover do, as data. So it can be written in one transaction with the delivery. */
import type { SignalWithStartOptions } from "../../client/signal-with-start.ts";
import type { StartOptions } from "../../client/starting.ts";
import type { Contract, SignalsOf } from "../../core/contract/contract.ts";
import type { InferInput } from "../../core/contract/schema.ts";
import type { StartArguments } from "../../core/contract/startable.ts";
import type { SenderAnswer } from "./verifier.ts";

/** As for the client's `start`. Without an `id` the run's is made of the webhook's name and the delivery's id. */
export type StartDeedOptions = Omit<StartOptions, "runId">;

/** A run by your own id, or by ours. */
export type DeedRun = { readonly id: string } | { readonly runId: string };

interface Named {
  readonly name: string;
  readonly payload: unknown;
  readonly dedupeId: string | undefined;
}

export type Deed =
  | {
      readonly kind: "start";
      readonly contract: Contract;
      readonly input: unknown;
      readonly options: StartDeedOptions;
      readonly signal?: Named;
    }
  | { readonly kind: "signal"; readonly contract: Contract; readonly run: DeedRun; readonly signal: Named };

/** Nothing is done, and nothing is written. */
export interface Ignored {
  readonly kind: "ignore";
  readonly reason: string;
}

/** What the sender is told. */
export interface Answered {
  readonly kind: "answer";
  readonly answer: SenderAnswer;
}

/** Starts a run. @example start(order, toOrder(event), { id: event.data.object.metadata.order_id }) */
export function start<C extends Contract>(contract: C, ...args: StartArguments<C, StartDeedOptions>): Deed {
  const [input, options = {}] = args;
  return { kind: "start", contract, input, options };
}

/**
 * Sends a signal to a run. If no run has that id yet, the signal is kept for it for 96 hours, since senders keep no order.
 * Without a `dedupeId` the delivery's id is one.
 *
 * @example signal(order, { id: event.data.object.metadata.order_id }, "refunded", event.data.object)
 */
export function signal<C extends Contract, Name extends keyof SignalsOf<C> & string>(
  contract: C,
  run: DeedRun,
  name: Name,
  payload: InferInput<SignalsOf<C>[Name]>,
  { dedupeId }: { readonly dedupeId?: string | undefined } = {},
): Deed {
  return { kind: "signal", contract, run, signal: { name, payload, dedupeId } };
}

/**
 * Sends a signal to the run with your own id, and starts that run first unless it is there.
 *
 * @example signalWithStart(cart, "item", { sku: "lamp" }, { id: "c1", input: { customer: "ada" } })
 */
export function signalWithStart<C extends Contract, Name extends keyof SignalsOf<C> & string>(
  contract: C,
  name: Name,
  payload: InferInput<SignalsOf<C>[Name]>,
  options: Omit<SignalWithStartOptions<C>, "signalId" | "runId">,
): Deed {
  const { input, dedupeId, ...rest }: { readonly input?: unknown; readonly dedupeId?: string | undefined } = options;
  return { kind: "start", contract, input, options: rest, signal: { name, payload, dedupeId } };
}

/** Does nothing, without any SQL. `reason` is told by the event `delivery_ignored`. @example ignore("not ours") */
export function ignore(reason: string): Ignored {
  return { kind: "ignore", reason };
}

/** Answers the sender so, once everything else is done. @example answer({ body: { text: "We are on it." } }) */
export function answer(given: SenderAnswer): Answered {
  return { kind: "answer", answer: given };
}
