/**
 * A schedule: it starts a run of a workflow at each instant that its calendar names. Code declares it by `schedule(…)`, and
 * `serve({ schedules })` registers it. Others are made at run time (`client.schedules.create`).
 *
 * Postgres keeps the schedule and knows its calendar (src/postgres/functions/schedule).
 */
import { type Duration, toMilliseconds } from "../duration.ts";
import { LayoverError } from "../errors.ts";
import { checkName } from "../names.ts";
import type { Contract } from "./contract.ts";
import { signatureOf } from "./signature.ts";
import type { InputOf } from "./startable.ts";
import { checkTags } from "./tags.ts";

/** When a schedule fires: by exactly one of `cron`, `every` and `at`. */
export type Calendar =
  | {
      /**
       * Five fields: minute, hour, day of the month, month, weekday. Numbers, `*`, ranges, steps and lists of them, English
       * names of months and weekdays; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`.
       */
      readonly cron: string;
      /** The name of the timezone in which `cron` is read, such as `Europe/Berlin`. Default: UTC. */
      readonly timezone?: string;
      readonly every?: never;
      readonly startAt?: never;
      readonly at?: never;
    }
  | {
      /** The time between two firings: a minute to ten years. */
      readonly every: Duration;
      /** The first firing, from which the others are counted. Default: an instant near 1970 that the name decides. */
      readonly startAt?: Date;
      readonly cron?: never;
      readonly timezone?: never;
      readonly at?: never;
    }
  | {
      /** The only firing. */
      readonly at: Date;
      readonly cron?: never;
      readonly timezone?: never;
      readonly every?: never;
      readonly startAt?: never;
    };

/** The terms of a schedule, beside its calendar. */
export interface ScheduleTerms {
  /**
   * Puts each firing off by some whole minutes, up to this, and never until the next instant. They depend on the name and
   * the instant alone. Default: none.
   */
  readonly jitter?: Duration;
  /** A firing while a run of the schedule is not over is left out (`skip`, the default), or starts a run beside it (`allow`). */
  readonly overlap?: "skip" | "allow";
  /**
   * Firings may be missed, in a pause or an outage. The last one is made up for (`latest`, the default); each
   * one is, up to 100 (`all`, with `overlap: "allow"`); or none that is more than five minutes late (`none`).
   */
  readonly catchUp?: "latest" | "all" | "none";
  /** Tags of each run. */
  readonly tags?: Readonly<Record<string, string>>;
}

/** A calendar and terms that nobody has checked yet: which of them go together, `definitionOf` says. */
export interface GivenSchedule {
  readonly cron?: string | undefined;
  readonly timezone?: string | undefined;
  readonly every?: Duration | undefined;
  readonly startAt?: Date | undefined;
  readonly at?: Date | undefined;
  readonly jitter?: Duration | undefined;
  readonly overlap?: "skip" | "allow" | undefined;
  readonly catchUp?: "latest" | "all" | "none" | undefined;
  readonly tags?: Readonly<Record<string, string>> | undefined;
}

/** The firing that starts a run, as the function `input` is told of it. */
export interface Firing {
  readonly schedule: string;
  /** The instant that the calendar names. */
  readonly scheduledAt: Date;
  /** When it was fired: a little later, or much later if it was made up for. */
  readonly firedAt: Date;
}

/** The input of each run, or a function that makes it. May be left out where the contract takes none. */
type InputPart<C> =
  undefined extends InputOf<C>
    ? { readonly input?: InputOf<C> | ((firing: Firing) => InputOf<C>) }
    : { readonly input: InputOf<C> | ((firing: Firing) => InputOf<C>) };

export type ScheduleOptions<C extends Contract> = {
  /** Unique among the schedules of a namespace. It becomes the first part of the runs' ids. Up to 100 characters. */
  readonly name: string;
  /** The workflow whose runs it starts. */
  readonly start: C;
} & Calendar &
  ScheduleTerms &
  InputPart<C>;

/** A schedule as Postgres keeps it, without its input. Durations are milliseconds, instants epoch milliseconds. */
export interface ScheduleDefinition {
  readonly workflow: string;
  readonly version: number;
  readonly cron?: string;
  readonly timezone?: string;
  readonly everyMs?: number;
  readonly startAt?: number;
  readonly at?: number;
  readonly jitterMs?: number;
  readonly overlap?: "skip" | "allow";
  readonly catchUp?: "latest" | "all" | "none";
  readonly tags?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly signature?: string;
}

/** A schedule that code declares. */
export interface Schedule {
  readonly name: string;
  readonly contract: Contract;
  readonly definition: ScheduleDefinition;
  /** The input of each run, or a function that makes it. The workflow's schema parses it. */
  readonly input: unknown;
}

const longestName = 100;

/**
 * Declares a schedule. A function as `input` runs in the first turn of each run, and what it makes is stored with that turn.
 * If the process dies before, it runs again, so it must have no effects. If it throws, that run fails, and the schedule goes on.
 *
 * @throws LayoverError `invalid_schedule`, `invalid_name`, `invalid_duration`; what only the database can tell, as a cron
 *   pattern that cannot be read, is an error in the log when the deployment registers it
 * @example
 * export const nightly = schedule({ name: "nightly", cron: "0 3 * * *", timezone: "Europe/Berlin", start: report,
 *   input: ({ scheduledAt }) => ({ day: scheduledAt }) });
 */
export function schedule<const C extends Contract>(options: ScheduleOptions<C>): Schedule {
  const { name, start, input } = options;
  return { name: checkScheduleName(name), contract: start, definition: definitionOf(start, options), input };
}

/** @throws LayoverError `invalid_name` */
export function checkScheduleName(name: unknown): string {
  const checked = checkName(name, "the schedule's name");
  if (checked.length <= longestName) return checked;
  throw new LayoverError("invalid_name", `the schedule's name ${JSON.stringify(checked)} is too long`, {
    hint: `Use up to ${longestName} characters: the ids of its runs begin with it.`,
    details: { field: "the schedule's name", limit: longestName, size: checked.length },
  });
}

/** @throws LayoverError `invalid_schedule`, `invalid_duration`, `invalid_request` */
export function definitionOf(contract: Contract, given: GivenSchedule): ScheduleDefinition {
  const { cron, timezone, every, startAt, at, jitter, overlap, catchUp, tags } = given;
  if ([cron, every, at].filter((given) => given !== undefined).length !== 1)
    throw invalidSchedule("it needs exactly one of cron, every and at", "cron");
  if (catchUp === "all" && overlap !== "allow") {
    throw invalidSchedule('catchUp "all" needs overlap "allow": the runs of missed firings begin together', "catchUp");
  }
  const everyMs = every === undefined ? undefined : toMilliseconds(every, { field: "every" });
  if (everyMs !== undefined && everyMs < 60_000) throw invalidSchedule("every must be a minute or more", "every");
  const jitterMs = jitter === undefined ? undefined : toMilliseconds(jitter, { field: "jitter" });
  if (jitterMs !== undefined && (jitterMs % 60_000 !== 0 || jitterMs > 86_400_000))
    throw invalidSchedule("jitter must be whole minutes, and a day at most", "jitter");
  return {
    workflow: contract.name,
    version: contract.version,
    ...(cron !== undefined && { cron }),
    ...(timezone !== undefined && { timezone }),
    ...(everyMs !== undefined && { everyMs }),
    ...(startAt !== undefined && { startAt: instantOf(startAt, "startAt") }),
    ...(at !== undefined && { at: instantOf(at, "at") }),
    ...(jitterMs !== undefined && { jitterMs }),
    ...(overlap !== undefined && { overlap }),
    ...(catchUp !== undefined && { catchUp }),
    ...(tags !== undefined && { tags: checkTags(tags) }),
    ...(contract.timeoutMs !== undefined && { timeoutMs: contract.timeoutMs }),
    signature: signatureOf(contract),
  };
}

/** The error of a schedule that cannot be as it is given. */
export function invalidSchedule(why: string, field?: string): LayoverError {
  return new LayoverError("invalid_schedule", `the schedule cannot be registered: ${why}`, {
    hint: "src/core/contract/schedule.ts says what a schedule is made of.",
    details: { ...(field !== undefined && { field }) },
  });
}

function instantOf(date: Date, field: string): number {
  const ms = date.getTime();
  if (Number.isNaN(ms)) throw invalidSchedule(`${field} is no valid date`, field);
  return ms;
}
