/** The verbs of schedules over HTTP. schedules.ts says what each does. */
import { v7 } from "uuid";
import type { Contract } from "../../core/contract/contract.ts";
import type {
  CreateScheduleOptions,
  ListSchedulesOptions,
  PauseScheduleOptions,
  ScheduleCreated,
  SchedulePage,
  ScheduleVerbs,
  ScheduleView,
  TriggerOptions,
} from "../schedules.ts";
import { type Api, pathOf } from "./api.ts";

/** The answers have the shape that the routes of these paths give (http/schedules.ts). */
export class HttpSchedules implements ScheduleVerbs {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  async create<C extends Contract>(
    name: string,
    contract: C,
    options: CreateScheduleOptions<C>,
  ): Promise<ScheduleCreated> {
    const { name: workflow, version } = contract;
    const body = { ...options, name, workflow, version };
    return (await this.#api.post("/v1/schedules", body)) as ScheduleCreated;
  }

  async get(name: string): Promise<ScheduleView> {
    return (await this.#api.get(pathOf("v1", "schedules", name))) as ScheduleView;
  }

  async list(options: ListSchedulesOptions = {}): Promise<SchedulePage> {
    return (await this.#api.get("/v1/schedules", { query: { ...options } })) as SchedulePage;
  }

  async pause(name: string, options: PauseScheduleOptions = {}): Promise<ScheduleView> {
    return (await this.#post(name, "pause", options)) as ScheduleView;
  }

  async resume(name: string): Promise<ScheduleView> {
    return (await this.#post(name, "resume", {})) as ScheduleView;
  }

  async trigger(name: string, { runId = v7(), ...options }: TriggerOptions = {}) {
    return (await this.#post(name, "trigger", { ...options, runId })) as { readonly runId: string };
  }

  async delete(name: string): Promise<void> {
    await this.#api.delete(pathOf("v1", "schedules", name));
  }

  async adopt(name: string, options: { readonly owner: string }): Promise<ScheduleView> {
    return (await this.#post(name, "adopt", options)) as ScheduleView;
  }

  async #post(name: string, verb: string, body: object): Promise<unknown> {
    return await this.#api.post(pathOf("v1", "schedules", name, verb), body);
  }
}
