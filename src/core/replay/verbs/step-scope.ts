/** A scope: the prefix of the paths that one `step` gives to its demands, and all else that the verbs of this `step` share. */

import type { Question, Step } from "../../contract/step.ts";
import { LayoverError } from "../../errors.ts";
import { checkPath, checkStepName } from "../../names.ts";
import type { Demand, MapScope, StepBody } from "../demand.ts";
import type { Execution } from "../execution.ts";

export interface StepsOptions {
  readonly execution: Execution;
  /** 32 bytes that depend only on the run, on where its handler stands, and on this text. */
  readonly seed: (text: string) => Uint8Array;
  /** The seed of a step's keys, or of the id of a run. `recordedAt`: the position of its record. Undefined: it has none. */
  readonly keySeed: (text: string, recordedAt: number | undefined) => Uint8Array;
  /** Answers the id of a run that is invoked, which may have been there before a retry asks for it under this id. */
  readonly knownRun: (runId: string) => string;
  /** The epoch of the URL of a callback that is made now. Undefined: that of the run. */
  readonly callbackEpoch: () => number | undefined;
  /** Parses and encodes the input of the history that follows this one. */
  readonly encodeInput: (input: unknown) => Promise<string>;
  /** Makes the one-time URL of a callback. Throws if the deployment has no public URL or no secret. */
  readonly sealCallback: (
    callback: Question & {
      readonly name: string;
      readonly path: string;
      readonly occurrence: number;
      readonly endsAt: number;
    },
  ) => {
    readonly url: string;
    readonly token: string;
  };
  /** Tells whether the run has met this change of its code. */
  readonly isPatched: (path: string) => boolean;
  /** Takes what the run says of itself, as the codec's text. */
  readonly say: (value: string) => void;
  /** Makes of a status what is stored. Throws if the contract does not allow it. */
  readonly parseStatus: (value: unknown) => unknown;
  readonly stepTimeoutMs: number;
  /** Makes a digest in hexadecimal. The same text gives the same digest for ever. */
  readonly digest: (text: string) => string;
  /** The names that the contract declares. */
  readonly signals: readonly string[];
  readonly callbacks: readonly string[];
}

/** The place of a demand in its run. It is the same in each replay. */
export type DemandPlace = Pick<Demand, "path" | "occurrence" | "map" | "isShielded">;

/** The parts of a scope that an inner scope has of its own. It takes all other parts from the outer scope. */
interface Inner {
  readonly prefix: string;
  readonly map?: MapScope | undefined;
  readonly isShielded?: boolean;
  readonly announces?: StepBody["announces"];
}

export class StepScope {
  readonly options: StepsOptions;
  readonly execution: Execution;
  /** Empty for the run itself. Otherwise its end is the sign before the name that follows. */
  readonly prefix: string;
  readonly map: MapScope | undefined;
  /** Whether it is a cleanup, or lies in one. */
  readonly isShielded: boolean;
  /** The callback that the steps of this scope announce. */
  readonly announces: StepBody["announces"];
  readonly #makeStep: (scope: StepScope) => Step;

  /** `makeStep`: makes the verbs of a scope. */
  constructor(options: StepsOptions, makeStep: (scope: StepScope) => Step, inner: Inner = { prefix: "" }) {
    this.options = options;
    this.execution = options.execution;
    this.prefix = inner.prefix;
    this.map = inner.map;
    this.isShielded = inner.isShielded ?? false;
    this.announces = inner.announces;
    this.#makeStep = makeStep;
  }

  /** Makes the path of this name. */
  pathOf(name: string, key = ""): string {
    this.execution.bodies.checkIsOutside(name);
    return checkPath(this.prefix + checkStepName(name) + key);
  }

  /** Takes the next place of this name. `key`: the part of the path that a key makes. */
  place(name: string, key = ""): DemandPlace {
    const path = this.pathOf(name, key);
    const occurrence = this.execution.nextOccurrence(path);
    if (key !== "" && occurrence > 1) throw duplicateKey(path);
    const { map, isShielded } = this;
    return { path, occurrence, map, isShielded };
  }

  /** Takes a path below which names may stand. A second one of the same name is another path. */
  region(name: string): string {
    const path = this.pathOf(name);
    const occurrence = this.execution.nextOccurrence(`${path}/`);
    return occurrence === 1 ? path : `${path}#${occurrence}`;
  }

  /** Makes the `step` whose names stand below `prefix`. */
  inside(prefix: string, inner: Omit<Inner, "prefix"> = {}): Step {
    const { map, isShielded } = this;
    this.execution.failing.openRoom(prefix);
    const scope = { map, isShielded, ...inner, prefix };
    return this.#makeStep(new StepScope(this.options, this.#makeStep, scope));
  }

  /** Draws the next bytes of this scope: the same ones in each replay. `what`: the kind of value they are for. */
  draw(what: string): Uint8Array {
    const key = `${this.prefix}/${what}`;
    return this.options.seed(`${key}/${this.execution.nextOccurrence(key)}`);
  }
}

export function duplicateKey(path: string): LayoverError {
  return new LayoverError("duplicate_key", `${path} is asked for twice, with the same key`, {
    hint: "Give each its own key: an id that no other step of this name has in this scope.",
    details: { path },
  });
}
