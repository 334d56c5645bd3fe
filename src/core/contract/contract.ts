/**
 * The contract of a workflow: its name, version and schemas. Safe to import anywhere, also in a client.
 * The handler is apart, so that workflows may refer to themselves and to each other.
 */
import { type Duration, toMilliseconds } from "../duration.ts";
import { LayoverError } from "../errors.ts";
import { checkName, checkStepName } from "../names.ts";
import type { InferInput, InferOutput, Schema, Schemas } from "./schema.ts";
import { checkSensitive, type SensitivePart } from "./sensitive.ts";
import type { Startable } from "./startable.ts";
import type { Log, RunInfo, Step } from "./step.ts";
import type { Storable } from "./storable.ts";

// biome-ignore lint/complexity/noBannedTypes: the empty set of names, on which no key can be looked up
type NoSchemas = {};

type StorableSchemas<Given extends Schemas> = { readonly [Name in keyof Given]: Storable<InferOutput<Given[Name]>> };

/** `unknown` where a schema is given: then not the handler's result is stored, but what the schema makes of it. */
type StorableWithoutSchema<Output extends Schema, Result> = [unknown] extends [InferOutput<Output>]
  ? Storable<Result>
  : unknown;

/** What a contract is made of. */
export interface ContractOptions<
  Input extends Schema,
  Output extends Schema,
  Signals extends Schemas,
  Callbacks extends Schemas,
  Status extends Schema = Schema,
> {
  /** Unique among the workflows of a namespace. */
  readonly name: string;
  /** A run keeps the version it was started with. Raise it when old runs could not replay the new code. */
  readonly version: number;
  /**
   * Any Standard Schema (zod, valibot, arktype …). It parses the input once, when the run is started. Its output is
   * stored.
   */
  readonly input?: Input & Storable<InferOutput<Input>>;
  /** The schema that parses what the handler returns. Its output is the run's result. */
  readonly output?: Output & Storable<InferOutput<Output>>;
  readonly signals?: Signals & StorableSchemas<Signals>;
  readonly callbacks?: Callbacks & StorableSchemas<Callbacks>;
  /** The schema that parses what a run says of itself (`step.setStatus`). It must answer at once, without a promise. */
  readonly status?: Status & Storable<InferOutput<Status>>;
  /** How long a run may take from its start; then it cleans up (`step.cleanup`), and fails with `run_timeout`. Default: for ever. */
  readonly timeout?: Duration;
  /**
   * How long runs of the workflow are kept that are over, by their outcome, up to 10 years: `{ completed: "7d", failed: "90d" }`.
   * Default: what the deployment says (`keepMs`, `keepFailedMs`). The highest version that is served speaks for all of them.
   */
  readonly retention?: Retention;
  /**
   * The values that no page, list, log, span, error or export shows: `["input", "signals.card"]`. The code of the workflow and whoever
   * waits for the run's result get them as they are. They stand in the database: to encrypt them there, see layover/encryption.
   */
  readonly sensitive?: readonly SensitivePart<NoInfer<Signals>, NoInfer<Callbacks>>[];
}

/** How long a run is kept, by how it ended. What is left out: the deployment's own time. */
export interface Retention {
  readonly completed?: Duration;
  readonly failed?: Duration;
  readonly cancelled?: Duration;
}

/** A workflow's name, version and schemas, without its code: all that a client needs. */
export interface Contract<
  Input extends Schema = Schema,
  Output extends Schema = Schema,
  Signals extends Schemas = Schemas,
  Callbacks extends Schemas = Schemas,
  Status extends Schema = Schema,
> extends Startable<Input, Output> {
  readonly signals: Signals;
  readonly callbacks: Callbacks;
  readonly status: Status | undefined;
  /** How long runs are kept that are over, in milliseconds, by their outcome. */
  readonly keepMs: KeepMs;
  /** Binds the code that carries out this contract. */
  handler<Result extends InferInput<Output>>(
    handler: Handler<Input, Output, Signals, Callbacks, Result, Status> & StorableWithoutSchema<Output, Result>,
  ): Workflow;
}

export type KeepMs = { readonly [Outcome in keyof Retention]: number };

/** What a handler is given. `input` is the input schema's output. */
export interface HandlerContext<
  Input extends Schema,
  Signals extends Schemas,
  Callbacks extends Schemas,
  Status extends Schema = Schema,
> {
  readonly input: InferOutput<Input>;
  readonly step: Step<Signals, Callbacks, InferInput<Input>, InferInput<Status>>;
  readonly run: RunInfo;
  readonly log: Log;
}

/**
 * The code of a workflow. Layover runs it again over its history (a replay), so everything that is not deterministic
 * belongs in a step.
 */
export type Handler<
  Input extends Schema,
  Output extends Schema,
  Signals extends Schemas,
  Callbacks extends Schemas,
  Result extends InferInput<Output> = InferInput<Output>,
  Status extends Schema = Schema,
> = (context: HandlerContext<Input, Signals, Callbacks, Status>) => Promise<Result>;

/** A contract with its handler: what a deployment registers. */
export interface Workflow {
  readonly contract: Contract;
  /** The context is built by the engine from this very contract. */
  readonly handle: (context: HandlerContext<Schema, Schemas, Schemas>) => Promise<unknown>;
}

/** A contract's signals: their schemas by name. */
export type SignalsOf<C> = C extends Contract<Schema, Schema, infer Signals, Schemas> ? Signals : never;
/** A contract's callbacks: their schemas by name. */
export type CallbacksOf<C> = C extends Contract<Schema, Schema, Schemas, infer Callbacks> ? Callbacks : never;

/**
 * Declares a workflow's contract.
 *
 * @example
 * const greet = workflow({ name: "greet", version: 1, input: z.object({ name: z.string() }), output: z.string() });
 * const greetWorkflow = greet.handler(async ({ input, step }) => step.run("greet", () => `Hello ${input.name}`));
 *
 * @throws LayoverError `invalid_name`, `invalid_version`, `invalid_duration`
 */
export function workflow<
  Input extends Schema = Schema<undefined, undefined>,
  Output extends Schema = Schema<unknown, unknown>,
  Signals extends Schemas = NoSchemas,
  Callbacks extends Schemas = NoSchemas,
  Status extends Schema = Schema,
>(
  options: ContractOptions<Input, Output, Signals, Callbacks, Status>,
): Contract<Input, Output, Signals, Callbacks, Status> {
  checkName(options.name, "the workflow's name");
  for (const name of Object.keys({ ...options.signals, ...options.callbacks }))
    checkStepName(name, "the name of a signal or callback");
  if (!Number.isInteger(options.version) || options.version < 1 || options.version > 2_147_483_647) {
    throw new LayoverError(
      "invalid_version",
      `the version of workflow "${options.name}" is ${String(options.version)}`,
      {
        hint: "Use a whole number from 1 on.",
      },
    );
  }
  const contract: Contract<Input, Output, Signals, Callbacks, Status> = {
    name: options.name,
    version: options.version,
    input: options.input,
    output: options.output,
    signals: options.signals ?? ({} as Signals),
    callbacks: options.callbacks ?? ({} as Callbacks),
    status: options.status,
    timeoutMs: options.timeout === undefined ? undefined : toMilliseconds(options.timeout),
    keepMs: keepMsOf(options.retention),
    sensitive: checkSensitive(options.sensitive ?? [], options),
    // The engine builds a handler's context from the workflow's own contract, so the erased types agree.
    handler: (handle) => ({ contract: contract as unknown as Contract, handle: handle as Workflow["handle"] }),
  };
  return contract;
}

function keepMsOf(retention: Retention = {}): KeepMs {
  const entries = Object.entries(retention).filter(([, duration]) => duration !== undefined);
  return Object.fromEntries(
    entries.map(([outcome, duration]) => [outcome, toMilliseconds(duration, { field: `retention.${outcome}` })]),
  );
}
