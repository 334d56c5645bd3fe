/** The schedules that people look at and make at run time: what is asked, what is answered, and what is refused. */
import type { Contract } from "../core/contract/contract.ts";
import {
  type Calendar,
  checkScheduleName,
  definitionOf,
  type GivenSchedule,
  invalidSchedule,
  type ScheduleDefinition,
  type ScheduleTerms,
} from "../core/contract/schedule.ts";
import type { InputOf } from "../core/contract/startable.ts";
import { storedInput } from "../core/contract/stored-input.ts";
import { LayoverError } from "../core/errors.ts";
import type {
  CreateScheduleAnswer,
  CreateScheduleCall,
  ListSchedulesAnswer,
  ListSchedulesCall,
  ScheduleAnswer,
  WireSchedule,
} from "../postgres/wire-schedules.ts";
import { type OperationOptions, operationTerms } from "./operations.ts";
import { checkLimit } from "./page-limit.ts";

/** A schedule that is made at run time: its calendar, its terms, and the input of each run. */
export type CreateScheduleOptions<C extends Contract> = Calendar &
  ScheduleTerms &
  (undefined extends InputOf<C> ? { readonly input?: InputOf<C> } : { readonly input: InputOf<C> }) & {
    /** Whether a schedule of that name that was made at run time before gets this definition. Default: no. */
    readonly replaces?: boolean | undefined;
  };

/** The same, before anything of it is checked. */
export interface GivenCreation extends GivenSchedule {
  readonly input?: unknown;
  readonly replaces?: boolean | undefined;
}

/** The answer to `create`. */
export interface ScheduleCreated {
  readonly outcome: "created" | "exists" | "changed";
  readonly schedule: ScheduleView;
}

export interface ScheduleView {
  readonly name: string;
  readonly workflow: string;
  readonly version: number;
  /** The deployment whose code declares it. Missing: it was made at run time. */
  readonly owner?: string;
  readonly definition: ScheduleDefinition;
  /** The instant that its calendar names next. Missing: it has no instant left. */
  readonly nextAt?: Date;
  /** When that is fired: the instant and its jitter. */
  readonly firesAt?: Date;
  /** The last instant that was fired or left out. */
  readonly lastAt?: Date;
  readonly lastFiredAt?: Date;
  readonly lastRunId?: string;
  /** How many runs it has started. */
  readonly fired: number;
  /** How often it started none: in all, and since it last started one. */
  readonly skipped: number;
  readonly skippedInRow: number;
  readonly lastSkip?: { readonly cause: string; readonly at: Date; readonly runId?: string; readonly reason?: string };
  readonly paused?: { readonly at: Date; readonly by?: string; readonly reason?: string };
  /** Whether its workflow is paused. It does not fire until that is resumed. */
  readonly workflowIsPaused: boolean;
  /** Whether a deployment that is alive carries the version of its workflow. Otherwise it does not fire. */
  readonly isCarried: boolean;
  /** Whether a deployment of its owner's name is alive. */
  readonly ownerIsLive: boolean;
  /** Another deployment, whose code declares something else under this name (`adopt`). */
  readonly rivalOwner?: string;
  /** Other live deployments, whose code declares the same (`adopt`). Missing: there is none. */
  readonly alsoDeclaredBy?: readonly string[];
  /** Why it fires no more, though its pattern has no end: the database has lost its timezone. */
  readonly stoppedBecause?: string;
  readonly createdAt: Date;
  readonly changedAt: Date;
}

export interface SchedulePage {
  /** Sorted by name. */
  readonly schedules: readonly ScheduleView[];
  /** Cursor of the next page. Missing: this page is the last one. */
  readonly cursor?: string;
}

export interface ListSchedulesOptions {
  readonly workflow?: string | undefined;
  /** Up to 500. Default: 100. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** The reason of a pause, and who asks for it. Both are kept until the schedule is resumed. */
export interface PauseScheduleOptions {
  /** Why, in at most 2,000 characters. */
  readonly reason?: string | undefined;
  /** The name of the person who asks. */
  readonly by?: string | undefined;
}

export interface TriggerOptions extends Omit<OperationOptions, "callId"> {
  /** Whether a run is started also while another run of the schedule is not over. Default: as the schedule's `overlap` says. */
  readonly ignoresOverlap?: boolean | undefined;
  /** Our id of the run (uuid v7), made by you: the same again gets the same run. */
  readonly runId?: string | undefined;
}

/** The verbs of schedules, the same in process (`client.schedules`) and over HTTP. */
export interface ScheduleVerbs {
  /**
   * Makes a schedule that no code declares. The same again changes nothing.
   *
   * @throws LayoverError `schedule_conflict` if the name is taken, `invalid_schedule`, `invalid_input`, `invalid_name`
   * @example await client.schedules.create("c1/digest", digest, { cron: "0 8 * * 1", timezone: "Asia/Tokyo", input: { customer: "c1" } });
   */
  create<C extends Contract>(name: string, contract: C, options: CreateScheduleOptions<C>): Promise<ScheduleCreated>;
  /** @throws LayoverError `unknown_schedule` */
  get(name: string): Promise<ScheduleView>;
  /** A page of schedules, by name. @throws LayoverError `invalid_request` */
  list(options?: ListSchedulesOptions): Promise<SchedulePage>;
  /** Pauses it until `resume`; a deploy does not end that. @throws LayoverError `unknown_schedule` */
  pause(name: string, options?: PauseScheduleOptions): Promise<ScheduleView>;
  /** Ends the pause. What was missed is made up for as `catchUp` says. @throws LayoverError `unknown_schedule` */
  resume(name: string): Promise<ScheduleView>;
  /** Starts a run now, beside the calendar. @throws LayoverError `schedule_overlap`, `unknown_schedule` */
  trigger(name: string, options?: TriggerOptions): Promise<{ readonly runId: string }>;
  /** @throws LayoverError `schedule_conflict` if the code of any live deployment declares it; `unknown_schedule` */
  delete(name: string): Promise<void>;
  /**
   * Gives it to another deployment, whose code declares it. What that declares is its definition then. If it is the same, nothing
   * changes but the owner.
   *
   * @throws LayoverError `not_applicable` if the code of that deployment does not declare it; `unknown_schedule`
   */
  adopt(name: string, options: { readonly owner: string }): Promise<ScheduleView>;
}

const mostSchedules = 500;

/** @throws LayoverError as `create` */
export async function createCall(
  name: string,
  contract: Contract,
  given: GivenCreation,
  maxBytes: number,
): Promise<CreateScheduleCall> {
  const encodedInput = await storedInput(contract, given.input, { maxBytes });
  const definition = { ...definitionOf(contract, given), encodedInput };
  return { name: checkScheduleName(name), definition, ...(given.replaces === true && { replaces: true }) };
}

/** @throws LayoverError `schedule_conflict`, `invalid_schedule` */
export function createdOf(name: string, answer: CreateScheduleAnswer): ScheduleCreated {
  if (answer.outcome === "invalid") throw invalidSchedule(answer.reason);
  if (answer.outcome !== "conflict") return { outcome: answer.outcome, schedule: scheduleView(answer.schedule) };
  const { owner } = answer.schedule;
  const taken = `the name of the schedule ${JSON.stringify(name)} is taken`;
  throw owner === null
    ? new LayoverError("schedule_conflict", `${taken} by one with another definition`, {
        hint: "Use another name, or say `replaces: true` to change that schedule.",
      })
    : new LayoverError("schedule_conflict", `${taken}: the code of the deployment "${owner}" declares it`, {
        hint: "Use another name, or change it in that code.",
      });
}

/** @throws LayoverError `invalid_request`, `invalid_name` */
export function listCall({ workflow, limit = 100, cursor }: ListSchedulesOptions): ListSchedulesCall {
  return {
    limit: checkLimit(limit, mostSchedules),
    ...(workflow !== undefined && { workflow }),
    ...(cursor !== undefined && { after: cursor }),
  };
}

export function pageOfSchedules({ schedules, hasMore }: ListSchedulesAnswer): SchedulePage {
  const last = hasMore ? schedules.at(-1) : undefined;
  return { schedules: schedules.map(scheduleView), ...(last !== undefined && { cursor: last.name }) };
}

export function scheduleCall(name: string, options: PauseScheduleOptions) {
  return { name, ...operationTerms(options) };
}

/**
 * Answers the schedule as it is after the verb.
 *
 * @throws LayoverError `unknown_schedule`, `schedule_conflict`, `schedule_overlap`, `not_applicable`, `invalid_schedule`
 */
export function changedOf(name: string, { outcome, schedule, skip, reason }: ScheduleAnswer): ScheduleView | undefined {
  const shown = `the schedule ${JSON.stringify(name.slice(0, 100))}`;
  switch (outcome) {
    case "unknown":
      throw unknownSchedule(name);
    case "declared":
      throw new LayoverError("schedule_conflict", `${shown} is declared by the code of ${declarersOf(schedule)}`, {
        hint: "Remove it from that code and deploy: its next build would bring it back. Or pause it.",
      });
    case "not_applicable":
      throw new LayoverError("not_applicable", `no code of that deployment declares ${shown}`, {
        hint: "`layover schedules show` names the deployments whose code declares it.",
      });
    case "skipped":
      throw new LayoverError("schedule_overlap", `${shown} started no run: ${whyOf(skip?.cause, skip?.reason)}`, {
        hint: "Wait for its end, end it, or say `ignoresOverlap: true`.",
        details: { ...(skip?.runId !== undefined && { runId: skip.runId }) },
      });
    case "invalid":
      throw invalidSchedule(reason ?? outcome);
    default:
      return schedule === null ? undefined : scheduleView(schedule);
  }
}

export function unknownSchedule(name: string): LayoverError {
  return new LayoverError("unknown_schedule", `there is no schedule ${JSON.stringify(name.slice(0, 100))}`, {
    hint: "`layover schedules list` shows all. A build registers those of its code at its first tick.",
  });
}

/** The live deployments whose code declares it. */
function declarersOf(schedule: WireSchedule | null): string {
  const { owner = null, ownerIsLive = false, alsoDeclaredBy = [], rivalOwner = null } = schedule ?? {};
  return [ownerIsLive ? owner : null, ...alsoDeclaredBy, rivalOwner]
    .filter((name) => name !== null)
    .map((name) => JSON.stringify(name))
    .join(", ");
}

function whyOf(cause: string | undefined, reason: string | undefined): string {
  return cause === "overlap" ? "a run of it is not over" : (reason ?? String(cause));
}

export function scheduleView(wire: WireSchedule): ScheduleView {
  const { definition, lastSkip, pausedAt } = wire;
  const { encodedInput: _, computesInput: __, sent: ___, ...shown } = definition;
  return {
    name: wire.name,
    workflow: definition.workflow,
    version: definition.version,
    ...(wire.owner !== null && { owner: wire.owner }),
    definition: shown,
    ...dated("nextAt", wire.nextAt),
    ...dated("firesAt", wire.firesAt),
    ...dated("lastAt", wire.lastAt),
    ...dated("lastFiredAt", wire.lastFiredAt),
    ...(wire.lastRunId !== null && { lastRunId: wire.lastRunId }),
    fired: wire.fired,
    skipped: wire.skipped,
    skippedInRow: wire.skippedInRow,
    ...(lastSkip !== null && { lastSkip: { ...lastSkip, at: new Date(lastSkip.at) } }),
    ...(pausedAt !== null && {
      paused: {
        at: new Date(pausedAt),
        ...(wire.pausedBy !== null && { by: wire.pausedBy }),
        ...(wire.pausedReason !== null && { reason: wire.pausedReason }),
      },
    }),
    workflowIsPaused: wire.workflowIsPaused,
    isCarried: wire.isCarried,
    ownerIsLive: wire.ownerIsLive,
    ...(wire.rivalOwner !== null && { rivalOwner: wire.rivalOwner }),
    ...(wire.alsoDeclaredBy !== undefined && wire.alsoDeclaredBy.length > 0 && { alsoDeclaredBy: wire.alsoDeclaredBy }),
    ...(wire.stoppedBecause != null && { stoppedBecause: wire.stoppedBecause }),
    createdAt: new Date(wire.createdAt),
    changedAt: new Date(wire.changedAt),
  };
}

function dated<Name extends string>(name: Name, ms: number | null): { readonly [Key in Name]?: Date } {
  return ms === null ? {} : ({ [name]: new Date(ms) } as { readonly [Key in Name]: Date });
}
