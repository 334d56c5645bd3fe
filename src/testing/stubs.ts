/**
 * Stubs stand for the bodies of steps. The engine knows nothing of them: each handler is given a `step` that hands the
 * stub on where it was given a body, also inside `scope`, `cleanup`, `all`, `race` and `map`.
 */

import type { Workflow } from "../core/contract/contract.ts";
import type { Schemas } from "../core/contract/schema.ts";
import type {
  Branch,
  Branches,
  CallbackContext,
  CleanupStep,
  MapOptions,
  RunOptions,
  Step,
  StepContext,
  StepOptionsOfAnnouncement,
  Undo,
  UndoContext,
  WaitOptions,
} from "../core/contract/step.ts";
import { LayoverError } from "../core/errors.ts";
import { undoPrefix } from "../core/replay/undos.ts";
import { keyPart } from "../core/replay/verbs/step-key.ts";
import { digestOf } from "../engine/digest.ts";
import { TestKitError } from "./kit-error.ts";

/** What a stub is given: what the body would get, and where it stands. */
export interface StubContext extends StepContext {
  /** The path as in the history: `charge`, `ship[3]/send`, `approval/announce`, `[undo]/charge`. */
  readonly path: string;
  readonly runId: string;
  /** The URL of the callback, only for the step that announces one. */
  readonly url?: string;
  readonly token?: string;
  /** What is known of the step that is to be undone, only for an undo. `result`: what the step returned. */
  readonly undone?: Pick<UndoContext, "outcome" | "error" | "original"> & { readonly result: unknown };
}

/** Stands for a body: its result is recorded, what it throws fails the attempt. */
export type Stub = (context: StubContext) => unknown;

/**
 * Stubs, first by workflow, then by step. A step is found by its path (`ship[3]/send`), else by the path without numbers
 * (`ship/send`), else by its name (`send`). The step of `waitForCallback("approval", …)` is `approval/announce`. The undo of
 * `charge`, its `compensate`, is `[undo]/charge`; the stub of a step never stands for its undo.
 */
export type Stubs = Readonly<Record<string, Readonly<Record<string, Stub>>>>;

/** Finds the stub of a step, if there is one. `misspelt`: the body must not be run, and the test was told so. */
export interface StubFinder {
  find(workflow: string, path: string): Stub | "misspelt" | undefined;
}

/** A body that is under way. */
export interface Body {
  readonly runId: string;
  readonly path: string;
  /** It is known never to end. */
  isHanging: boolean;
}

/**
 * A stub of which the first attempts of each step fail.
 *
 * @example stub: { order: { charge: failing(2, () => ({ id: "c1" })) } }
 */
export function failing<Result>(
  times: number,
  then: (context: StubContext) => Result,
  error: unknown = new Error("the stub fails"),
): (context: StubContext) => Result {
  return (context) => {
    if (context.attempt <= times) throw error;
    return then(context);
  };
}

const never = new Promise<never>(() => {});

/**
 * A stub that never ends: what it takes to see a step's timeout.
 *
 * @example
 * const t = await testEngine({ workflows: [orderWorkflow], stub: { order: { charge: hanging } } });
 * await t.start(order, input);
 * await t.advance("60s"); // the step's timeout: the first attempt has failed
 */
export function hanging(): Promise<never> {
  return never;
}

/** @throws TestKitError `unknown_workflow` */
export function checkStubs(stubs: Stubs, workflows: readonly Workflow[]): void {
  const names = workflows.map(({ contract }) => JSON.stringify(contract.name));
  for (const name of Object.keys(stubs)) {
    if (names.includes(JSON.stringify(name))) continue;
    throw new TestKitError(
      "unknown_workflow",
      `There are stubs for ${JSON.stringify(name)}, which is no workflow here.`,
      {
        hint: `Stubs are named by workflow, then by step; the workflows are ${names.join(", ")}.`,
      },
    );
  }
}

/** Puts stubs into the workflow. `bodies` holds the bodies that are under way at any time. */
export function withStubs(workflow: Workflow, stubs: StubFinder, bodies: Set<Body>): Workflow {
  const { name } = workflow.contract;
  return {
    contract: workflow.contract,
    handle: (context) => {
      const room = new Room({ workflow: name, stubs, bodies, runId: context.run.runId, rooms: new Map() }, "");
      return workflow.handle({ ...context, step: room.stubbed(context.step) });
    },
  };
}

interface Scene {
  readonly workflow: string;
  readonly stubs: StubFinder;
  readonly bodies: Set<Body>;
  readonly runId: string;
  /** How many rooms of one path there were. */
  readonly rooms: Map<string, number>;
}

/** Where names stand. Paths are made as the engine makes them (core/replay/verbs/step-scope.ts). */
class Room {
  readonly #scene: Scene;
  readonly #prefix: string;

  constructor(scene: Scene, prefix: string) {
    this.#scene = scene;
    this.#prefix = prefix;
  }

  stubbed(step: Step): Step {
    return {
      ...step,
      run: this.#run(step),
      transaction: this.#transaction(step),
      waitForCallback: (
        name: string,
        announce: (context: CallbackContext) => unknown,
        options?: WaitOptions & StepOptionsOfAnnouncement,
      ): Promise<unknown> =>
        step.waitForCallback(name, this.#standIn(`${this.#pathOf(name)}/announce`, announce), options),
      scope: (name, inside) => {
        const room = this.#inner(this.#pathOf(name));
        return step.scope(name, ({ step: inner }) => inside({ step: room.stubbed(inner) }));
      },
      cleanup: (name, inside) => {
        const room = this.#inner(this.#pathOf(name));
        return step.cleanup(name, ({ step: inner }) => inside({ step: room.#stubbedCleanup(inner) }));
      },
      all: <const Results extends readonly unknown[]>(name: string, list: Branches<Schemas, Schemas, Results>) =>
        step.all<Results>(name, this.#branches(name, list)),
      race: <const Results extends readonly unknown[]>(name: string, list: Branches<Schemas, Schemas, Results>) =>
        step.race<Results>(name, this.#branches(name, list)),
      map: (name, items, each, options) => step.map(name, items, this.#each(name, each, options), options),
      mapSettled: (name, items, each, options) =>
        step.mapSettled(name, items, this.#each(name, each, options), options),
    };
  }

  #branches<const Results extends readonly unknown[]>(
    name: string,
    list: Branches<Schemas, Schemas, Results>,
  ): Branches<Schemas, Schemas, Results> {
    const path = this.#pathOf(name);
    const branches: readonly Branch<Schemas, Schemas, unknown>[] = list;
    if (!Array.isArray(list) || list.some((branch) => typeof branch !== "function")) return list; // the engine refuses it
    const stubbed = branches.map((branch, index): Branch<Schemas, Schemas, unknown> => {
      const room = this.#inner(`${path}[${index}]`);
      return ({ step }) => branch({ step: room.stubbed(step) });
    });
    return stubbed as unknown as Branches<Schemas, Schemas, Results>; // the same branches, in their order
  }

  #each<Item, Result>(
    name: string,
    each: (item: Item, context: { readonly step: Step; readonly index: number }) => Promise<Result>,
    options: MapOptions<Item> | undefined,
  ): typeof each {
    if (typeof each !== "function") return each; // the engine says so
    const path = this.#pathOf(name);
    return (item, { step, index }) => {
      const part = options?.key === undefined ? `[${index}]` : partOf(name, options.key(item, index), options);
      return each(item, { step: this.#inner(path + part).stubbed(step), index });
    };
  }

  #stubbedCleanup(step: CleanupStep): CleanupStep {
    return {
      ...step,
      run: this.#run(step),
      transaction: this.#transaction(step),
      scope: (name, inside) => {
        const room = this.#inner(this.#pathOf(name));
        return step.scope(name, ({ step: inner }) => inside({ step: room.#stubbedCleanup(inner) }));
      },
    };
  }

  #run(step: Pick<Step, "run">): Step["run"] {
    return (name, body, options) => {
      const path = this.#prefix + name + partOf(name, options?.key, options);
      return step.run(name, this.#standIn(path, body), this.#withUndo(path, options));
    };
  }

  /** The kit's database has none of the tables that a transaction writes to. So here it is a step that needs a stub. */
  #transaction(step: Pick<Step, "run" | "transaction">): Step["transaction"] {
    return (name, body, options) => {
      if (typeof body !== "function") return step.transaction(name, body, options); // the engine says so
      const path = this.#prefix + name + partOf(name, options?.key, options);
      const alone = () => unstubbed(this.#scene.workflow, path);
      return step.run(name, this.#standIn(path, alone), options) as ReturnType<typeof body>; // for the test to say
    };
  }

  #withUndo<Result>(path: string, options: RunOptions<Result> | undefined): RunOptions<Result> | undefined {
    const compensate = options?.compensate;
    if (typeof compensate === "function") return { ...options, compensate: this.#undo(path, compensate) };
    if (typeof compensate?.run !== "function") return options; // the engine says so
    return { ...options, compensate: { ...compensate, run: this.#undo(path, compensate.run) } };
  }

  #undo<Result>(path: string, undo: Undo<Result>): Undo<Result> {
    return (result, context) => {
      const { outcome, error, original } = context;
      const undone = { outcome, error, original, result };
      return this.#standIn(undoPrefix + path, () => undo(result, context), { undone })(context);
    };
  }

  #standIn<Context extends StepContext, Result>(
    path: string,
    body: (context: Context) => Result | Promise<Result>,
    more: Pick<StubContext, "undone"> = {},
  ): typeof body {
    if (typeof body !== "function") return body; // the engine says so
    const { workflow, stubs, bodies, runId } = this.#scene;
    return async (context) => {
      const underWay: Body = { runId, path, isHanging: false };
      bodies.add(underWay);
      try {
        const stub = stubs.find(workflow, path);
        if (stub === undefined) return await body(context);
        const result = stub === "misspelt" ? never : Promise.resolve(stub({ ...context, ...more, path, runId }));
        underWay.isHanging = result === never;
        return (await result) as Result; // what it answers is for the test to say
      } finally {
        bodies.delete(underWay);
      }
    };
  }

  #inner(path: string): Room {
    return new Room(this.#scene, `${path}/`);
  }

  /** A second room of the same name is another room. */
  #pathOf(name: string): string {
    const path = this.#prefix + name;
    const occurrence = (this.#scene.rooms.get(path) ?? 0) + 1;
    this.#scene.rooms.set(path, occurrence);
    return occurrence === 1 ? path : `${path}#${occurrence}`;
  }
}

/** The part of the path that a key adds. Empty for a key that the engine refuses. */
function partOf(name: string, key: unknown, options: { readonly sensitiveKey?: boolean } | undefined): string {
  if (typeof key !== "string" || key === "") return "";
  return keyPart(name, { key, isSensitive: options?.sensitiveKey, digest: digestOf });
}

function unstubbed(workflow: string, path: string): never {
  throw new LayoverError("transactions_unavailable", `${path} is a transaction, and has no stub`, {
    hint: `The test kit carries out no transaction. Give it a stub: { ${workflow}: { ${JSON.stringify(path)}: () => result } }.`,
  });
}
