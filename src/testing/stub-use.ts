/**
 * Which stubs were met by a step. A step without a stub is carried out for real. There is one exception: a stub of its
 * workflow has nearly the step's name and was met by no step. Then one of the two names is misspelt, and the real body
 * is not run.
 *
 * A stub that no step meets is no mistake by itself: tests share stubs, and no run takes every branch.
 */
import { undonePath } from "../client/undo-view.ts";
import { undoPrefix } from "../core/replay/undos.ts";
import { TestKitError } from "./kit-error.ts";
import { areAlike } from "./near-names.ts";
import type { Stub, StubFinder, Stubs } from "./stubs.ts";

/** What happens to a step that has no stub, but a stub of nearly its name exists: the test fails, or the body is run. */
export type OnMissingStub = "throw" | "run";

export interface StubUseOptions {
  readonly stubs: Stubs;
  readonly onMissingStub: OnMissingStub;
  /** Is told of the mistake that makes the test fail. */
  readonly onMisspelt: (error: TestKitError) => void;
}

export class StubUse implements StubFinder {
  readonly #options: StubUseOptions;
  /** The names of steps, by workflow. */
  readonly #steps = new Map<string, Set<string>>();
  readonly #met = new Set<Stub>();

  constructor(options: StubUseOptions) {
    this.#options = options;
  }

  find(workflow: string, path: string): Stub | "misspelt" | undefined {
    const { stubs, onMissingStub, onMisspelt } = this.#options;
    const own = Object.hasOwn(stubs, workflow) ? (stubs[workflow] ?? {}) : {};
    const names = namesOf(path);
    const steps = this.#steps.get(workflow) ?? new Set();
    this.#steps.set(workflow, steps.add(names.at(1) ?? path));
    const found = names.find((name) => Object.hasOwn(own, name));
    const stub = found === undefined ? undefined : own[found];
    if (stub !== undefined) {
      this.#met.add(stub);
      return stub;
    }
    if (onMissingStub === "run") return undefined;
    const near = Object.entries(own).find(
      ([name, other]) => !this.#met.has(other) && names.some((step) => areAlike(step, name)),
    );
    if (near === undefined) return undefined;
    onMisspelt(misspelt({ workflow, path, stub: near[0], steps: [...steps] }));
    return "misspelt";
  }
}

/** The names of a path: the path itself, the path without numbers and keys, and the step's name. */
function namesOf(path: string): readonly string[] {
  const undone = undonePath(path);
  if (undone !== undefined) return namesOf(undone).map((name) => undoPrefix + name);
  const bare = path.replaceAll(/#?\[[^\]]*\]|#\d+/g, "");
  return [path, bare, bare.slice(bare.lastIndexOf("/") + 1)];
}

interface Misspelt {
  readonly workflow: string;
  readonly path: string;
  readonly stub: string;
  readonly steps: readonly string[];
}

function misspelt({ workflow, path, stub, steps }: Misspelt): TestKitError {
  const of = JSON.stringify(workflow);
  const met = steps.map((step) => JSON.stringify(step)).join(", ");
  return new TestKitError(
    "unknown_stub",
    `The step ${JSON.stringify(path)} of ${of} has no stub, and no step has met the stub ${JSON.stringify(stub)}. ` +
      `Its real body was not run. Steps so far: ${met}.`,
    { hint: 'Put the name right. If both are meant as they stand, use testEngine({ onMissingStub: "run" }).' },
  );
}
