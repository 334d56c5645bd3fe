/** The verbs of schedules by calls to the database. schedules.ts says what each does. */
import type { Contract } from "../../core/contract/contract.ts";
import type { ScheduleAnswer } from "../../postgres/wire-schedules.ts";
import { newRunId } from "../new-run-id.ts";
import { checkRunId } from "../run-id.ts";
import {
  type CreateScheduleOptions,
  changedOf,
  createCall,
  createdOf,
  type GivenCreation,
  type ListSchedulesOptions,
  listCall,
  type PauseScheduleOptions,
  pageOfSchedules,
  type ScheduleCreated,
  type SchedulePage,
  type ScheduleVerbs,
  type ScheduleView,
  scheduleCall,
  scheduleView,
  type TriggerOptions,
  unknownSchedule,
} from "../schedules.ts";
import type { ClientContext } from "./client-context.ts";
import { translated } from "./failure.ts";

export class Schedules implements ScheduleVerbs {
  readonly #context: ClientContext;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  async create<C extends Contract>(
    name: string,
    contract: C,
    options: CreateScheduleOptions<C>,
  ): Promise<ScheduleCreated> {
    return await this.createGiven(name, contract, options);
  }

  /** Does the same with what nobody has checked yet. */
  async createGiven(name: string, contract: Contract, given: GivenCreation): Promise<ScheduleCreated> {
    const { calls, limits } = this.#context;
    const call = await createCall(name, contract, given, limits.valueBytes);
    return createdOf(name, await translated(() => calls.createSchedule(call)));
  }

  async get(name: string): Promise<ScheduleView> {
    const found = await translated(() => this.#context.calls.getSchedule({ name }));
    if (!("name" in found)) throw unknownSchedule(name);
    return scheduleView(found);
  }

  async list(options: ListSchedulesOptions = {}): Promise<SchedulePage> {
    return pageOfSchedules(await translated(() => this.#context.calls.listSchedules(listCall(options))));
  }

  async pause(name: string, options: PauseScheduleOptions = {}): Promise<ScheduleView> {
    return await this.#change(name, () => this.#context.calls.changeSchedule("pause", scheduleCall(name, options)));
  }

  async resume(name: string): Promise<ScheduleView> {
    return await this.#change(name, () => this.#context.calls.changeSchedule("resume", { name }));
  }

  async trigger(name: string, { ignoresOverlap, runId, ...options }: TriggerOptions = {}) {
    const id = runId === undefined ? newRunId(await this.#context.nowForNewRun()) : checkRunId(runId);
    const call = { ...scheduleCall(name, options), runId: id, ...(ignoresOverlap === true && { ignoresOverlap }) };
    const answer = await translated(() => this.#context.calls.triggerSchedule(call));
    changedOf(name, answer);
    await this.#context.dispatchSoon(id, answer.turn);
    return { runId: id };
  }

  async delete(name: string): Promise<void> {
    changedOf(name, await translated(() => this.#context.calls.changeSchedule("delete", { name })));
  }

  async adopt(name: string, { owner }: { readonly owner: string }): Promise<ScheduleView> {
    return await this.#change(name, () => this.#context.calls.changeSchedule("adopt", { name, owner }));
  }

  async #change(name: string, send: () => Promise<ScheduleAnswer>): Promise<ScheduleView> {
    const changed = changedOf(name, await translated(send));
    if (changed === undefined) throw unknownSchedule(name);
    return changed;
  }
}
