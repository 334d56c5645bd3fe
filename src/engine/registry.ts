/**
 * The workflow versions that this deployment carries, with their handlers. The engine finds them here by name and
 * version. (The routes of HTTP need contracts only: http/contracts.ts.)
 */
import type { Workflow } from "../core/contract/contract.ts";
import { signatureOf } from "../core/contract/signature.ts";
import { LayoverError } from "../core/errors.ts";

export class Registry {
  /** The versions of each workflow, in the form that claims need. */
  readonly versions: Readonly<Record<string, readonly number[]>>;
  readonly #workflows = new Map<string, Workflow>();

  /** @throws LayoverError `duplicate_workflow` */
  constructor(workflows: readonly Workflow[]) {
    const versions: Record<string, readonly number[]> = {};
    for (const workflow of workflows) {
      const { name, version } = workflow.contract;
      if (this.find(name, version) !== undefined) {
        throw new LayoverError("duplicate_workflow", `version ${version} of workflow "${name}" is registered twice`, {
          hint: "Give one of them another name or version.",
        });
      }
      this.#workflows.set(`${version}/${name}`, workflow);
      versions[name] = [...(versions[name] ?? []), version];
    }
    this.versions = versions;
  }

  /** The signatures of their contracts, by workflow and version. */
  get signatures(): Readonly<Record<string, Readonly<Record<string, string>>>> {
    const signatures: Record<string, Record<string, string>> = {};
    for (const { contract } of this.#workflows.values())
      signatures[contract.name] = { ...signatures[contract.name], [contract.version]: signatureOf(contract) };
    return signatures;
  }

  find(name: string, version: number): Workflow | undefined {
    return this.#workflows.get(`${version}/${name}`);
  }
}
