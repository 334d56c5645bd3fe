/**
 * The workflow versions that this deployment carries, with their handlers, and its schedules. The engine finds them here by name and
 * version. (The routes of HTTP need contracts only: http/contracts.ts.)
 */
import type { KeepMs, Workflow } from "../core/contract/contract.ts";
import type { Schedule } from "../core/contract/schedule.ts";
import { signatureOf } from "../core/contract/signature.ts";
import { LayoverError } from "../core/errors.ts";

export class Registry {
  /** The versions of each workflow, in the form that claims need. */
  readonly versions: Readonly<Record<string, readonly number[]>>;
  readonly #workflows = new Map<string, Workflow>();
  readonly #schedules = new Map<string, Schedule>();

  /** @throws LayoverError `duplicate_workflow`, `duplicate_schedule` */
  constructor(workflows: readonly Workflow[], schedules: readonly Schedule[] = []) {
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
    for (const schedule of schedules) {
      const { name, contract } = schedule;
      if (this.#schedules.has(name)) {
        throw new LayoverError("duplicate_schedule", `the schedule "${name}" is declared twice`, {
          hint: "Give one of them another name.",
        });
      }
      if (this.find(contract.name, contract.version) === undefined) {
        throw new LayoverError(
          "unknown_workflow",
          `the schedule "${name}" starts version ${contract.version} of workflow "${contract.name}", which is not served here`,
          { hint: "Give its workflow to serve as well: serve({ workflows, schedules })." },
        );
      }
      this.#schedules.set(name, schedule);
    }
  }

  /** The schedules that the code declares. */
  get schedules(): Iterable<Schedule> {
    return this.#schedules.values();
  }

  /** The signatures of their contracts, by workflow and version. */
  get signatures(): Readonly<Record<string, Readonly<Record<string, string>>>> {
    const signatures: Record<string, Record<string, string>> = {};
    for (const { contract } of this.#workflows.values())
      signatures[contract.name] = { ...signatures[contract.name], [contract.version]: signatureOf(contract) };
    return signatures;
  }

  /** How long runs are kept that are over, by workflow and outcome, where contracts say so. Of several versions the highest speaks. */
  get retention(): Readonly<Record<string, KeepMs>> {
    const rules: Record<string, KeepMs> = {};
    for (const [name, versions] of Object.entries(this.versions)) {
      const { keepMs = {} } = this.find(name, Math.max(...versions))?.contract ?? {};
      if (Object.keys(keepMs).length > 0) rules[name] = keepMs;
    }
    return rules;
  }

  findSchedule(name: string): Schedule | undefined {
    return this.#schedules.get(name);
  }

  find(name: string, version: number): Workflow | undefined {
    return this.#workflows.get(`${version}/${name}`);
  }
}
