/** What is needed of a contract to start a run of it and to take its result. */
import type { InferInput, InferOutput, Schema } from "./schema.ts";

export interface Startable<Input extends Schema = Schema, Output extends Schema = Schema> {
  readonly name: string;
  readonly version: number;
  readonly input: Input | undefined;
  readonly output: Output | undefined;
  readonly timeoutMs: number | undefined;
  /** The places of values that nobody is shown: `input`, `signals.card`. Left out: none. */
  readonly sensitive?: readonly string[];
}

/** What `start` takes for this contract. */
export type InputOf<C> = C extends Startable<infer Input, Schema> ? InferInput<Input> : never;
/** What a completed run of this contract results in. */
export type ResultOf<C> = C extends Startable<Schema, infer Output> ? InferOutput<Output> : never;
/** The arguments after the contract where a run is started. `input` may be left out where the contract has none. */
export type StartArguments<C, Options> =
  undefined extends InputOf<C> ? [input?: InputOf<C>, options?: Options] : [input: InputOf<C>, options?: Options];
