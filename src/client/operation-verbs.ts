/**
 * The verbs that operators use on runs and workflows, which are alike in both clients. A client says how it asks for one
 * operation and for one page of many (verbs.ts says what each verb does).
 */
import type { Contract, SignalsOf } from "../core/contract/contract.ts";
import type { InferInput } from "../core/contract/schema.ts";
import type { HostClock } from "../core/ports.ts";
import type { ManyVerb, SingleVerb } from "../postgres/wire-operations.ts";
import type { RunFilter } from "./filter.ts";
import {
  type DeleteRunsOptions,
  type LiveFilter,
  type ManyOptions,
  type ManyPage,
  type ManyPageOptions,
  type ManyReceipt,
  operateMany,
  type RestartFilter,
  type RestartRunsOptions,
} from "./many.ts";
import type { OperationOptions, OperationReceipt } from "./operations.ts";
import {
  changeWorkflow,
  type WorkflowPage,
  type WorkflowPauseOptions,
  type WorkflowReceipt,
  type WorkflowVerb,
} from "./workflow-pause.ts";

export abstract class OperationVerbs {
  readonly #pauses: HostClock;

  /** @param host waits between the pages */
  constructor(host: HostClock) {
    this.#pauses = host;
  }

  protected abstract operate(verb: SingleVerb, runId: string, options: OperationOptions): Promise<OperationReceipt>;

  /** Does it to one page of the runs that fit. */
  protected abstract operatePage(verb: ManyVerb, filter: RunFilter, page: ManyPageOptions): Promise<ManyPage>;

  /** Does it to one page of the workflow's runs. The first page also pauses or resumes the workflow. */
  protected abstract changeWorkflowPage(
    verb: WorkflowVerb,
    workflow: string,
    page: ManyPageOptions,
  ): Promise<WorkflowPage>;

  async pause(runId: string, options: OperationOptions = {}): Promise<OperationReceipt> {
    return await this.operate("pause", runId, options);
  }

  async resume(runId: string, options: OperationOptions = {}): Promise<OperationReceipt> {
    return await this.operate("resume", runId, options);
  }

  async cancel(runId: string, options: OperationOptions = {}): Promise<OperationReceipt> {
    return await this.operate("cancel", runId, options);
  }

  async terminate(runId: string, options: OperationOptions = {}): Promise<OperationReceipt> {
    return await this.operate("terminate", runId, options);
  }

  async delete(runId: string, options: OperationOptions = {}): Promise<OperationReceipt> {
    return await this.operate("delete", runId, options);
  }

  async pauseRuns(filter: LiveFilter, options: ManyOptions = {}): Promise<ManyReceipt> {
    return await this.#operateMany("pause", filter, options);
  }

  async resumeRuns(filter: LiveFilter, options: ManyOptions = {}): Promise<ManyReceipt> {
    return await this.#operateMany("resume", filter, options);
  }

  async cancelRuns(filter: LiveFilter, options: ManyOptions = {}): Promise<ManyReceipt> {
    return await this.#operateMany("cancel", filter, options);
  }

  async terminateRuns(filter: LiveFilter, options: ManyOptions = {}): Promise<ManyReceipt> {
    return await this.#operateMany("terminate", filter, options);
  }

  async retryRuns(filter: RunFilter, options: ManyOptions = {}): Promise<ManyReceipt> {
    return await this.#operateMany("retry", filter, options);
  }

  async restartRuns(filter: RestartFilter, options: RestartRunsOptions = {}): Promise<ManyReceipt> {
    return await this.#operateMany("restart", filter, options);
  }

  async deleteRuns(filter: RunFilter, options: DeleteRunsOptions = {}): Promise<ManyReceipt> {
    return await this.#operateMany("delete", filter, options);
  }

  async signalRuns<C extends Contract, Name extends keyof SignalsOf<C> & string>(
    contract: C,
    filter: Omit<LiveFilter, "workflow">,
    name: Name,
    payload: InferInput<SignalsOf<C>[Name]>,
    options: ManyOptions = {},
  ): Promise<ManyReceipt> {
    const signal = { name, payload, contract };
    return await this.#operateMany("signal", { ...filter, workflow: contract.name }, { ...options, signal });
  }

  async pauseWorkflow(workflow: string, options: WorkflowPauseOptions = {}): Promise<WorkflowReceipt> {
    return await this.#changeWorkflow("pause", workflow, options);
  }

  async resumeWorkflow(workflow: string, options: WorkflowPauseOptions = {}): Promise<WorkflowReceipt> {
    return await this.#changeWorkflow("resume", workflow, options);
  }

  /** One call for each page, so that none takes long. */
  async #operateMany(verb: ManyVerb, filter: RunFilter, options: ManyOptions & ManyPageOptions): Promise<ManyReceipt> {
    return await operateMany((page) => this.operatePage(verb, filter, page), options, this.#pauses);
  }

  async #changeWorkflow(verb: WorkflowVerb, workflow: string, options: WorkflowPauseOptions): Promise<WorkflowReceipt> {
    const ask = (page: ManyPageOptions) => this.changeWorkflowPage(verb, workflow, page);
    return await changeWorkflow(ask, options, this.#pauses);
  }
}
