/**
 * The contracts that this deployment knows, by name and version. The routes check by them what comes in, and take the
 * newest if no version is named. (The engine finds the handlers in engine/registry.ts.)
 */
import type { Contract } from "../core/contract/contract.ts";
import { LayoverError } from "../core/errors.ts";
import { shorten } from "./fields.ts";

export class Contracts {
  /** The versions of each name, newest first. */
  readonly #byName: ReadonlyMap<string, readonly Contract[]>;

  constructor(contracts: readonly Contract[]) {
    const newestFirst = contracts.toSorted((one, other) => other.version - one.version);
    this.#byName = Map.groupBy(newestFirst, (contract) => contract.name);
  }

  /** @throws LayoverError `unknown_workflow` */
  newest(name: string): Contract {
    const [newest] = this.#versionsOf(name);
    if (newest === undefined) throw unknownWorkflow(name, [...this.#byName.keys()]);
    return newest;
  }

  /** @throws LayoverError `unknown_workflow` */
  exactly(name: string, version: number): Contract {
    const newest = this.newest(name);
    const contract = this.#versionsOf(name).find((candidate) => candidate.version === version);
    if (contract !== undefined) return contract;
    throw new LayoverError("unknown_workflow", `workflow ${JSON.stringify(name)} has no version ${version} here`, {
      hint: `Leave the version out to start the newest, ${newest.version}.`,
      details: { field: "version" },
    });
  }

  /**
   * Finds the contract of a run. If its version is gone from here, answers the newest.
   *
   * @throws LayoverError `unknown_workflow`
   */
  closest(name: string, version: number): Contract {
    return this.find(name, version) ?? this.newest(name);
  }

  /** Does the same as {@link closest}, but answers undefined if there is none. */
  find(name: string, version: number): Contract | undefined {
    const versions = this.#versionsOf(name);
    return versions.find((contract) => contract.version === version) ?? versions[0];
  }

  /** All of them, by name, the newest version of each first. */
  all(): readonly Contract[] {
    return [...this.#byName.values()].flat();
  }

  /** Whether a run of that name can only be of one version that is known here. */
  hasOneVersion(name: string): boolean {
    return this.#versionsOf(name).length === 1;
  }

  #versionsOf(name: string): readonly Contract[] {
    return this.#byName.get(name) ?? [];
  }
}

const mostShown = 20;

function unknownWorkflow(name: string, known: readonly string[]): LayoverError {
  const names = known.slice(0, mostShown).map((each) => JSON.stringify(each));
  return new LayoverError("unknown_workflow", `there is no workflow ${JSON.stringify(shorten(name))} here`, {
    hint: names.length === 0 ? "Register a workflow first." : `The workflows here are ${names.join(", ")}.`,
  });
}
