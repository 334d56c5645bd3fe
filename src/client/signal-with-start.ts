/** A signal that starts its run unless there is one: what it is given, and what became of it. */
import type { Contract } from "../core/contract/contract.ts";
import type { InputOf } from "../core/contract/startable.ts";
import type { Run, SignalOptions, SignalReceipt } from "./run.ts";
import type { StartOptions } from "./starting.ts";

/** `input` may be left out where the contract has none. */
export type SignalWithStartOptions<C> = StartOptions &
  SignalOptions & {
    /** Your own id of the run. */
    readonly id: string;
  } & (undefined extends InputOf<C> ? { readonly input?: InputOf<C> } : { readonly input: InputOf<C> });

export interface SignalWithStartReceipt<C extends Contract> {
  /** The run that got the signal. `isNew`: this call has started it. */
  readonly run: Run<C>;
  /** As for `signal`. */
  readonly outcome: SignalReceipt["outcome"];
}
