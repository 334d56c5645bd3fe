/** The names of what a deployment on AWS is made of. The construct of `layover/cdk` sets them as variables of its functions. */
import { LayoverError } from "../../../core/errors.ts";

export interface AwsNames {
  /** The function that carries out turns, by its name or ARN, without a version. */
  readonly turns: string;
  /** The ARN of the function that ticks, without a version: a version is gone with the next deploy, and its schedules stay. */
  readonly tick: string;
  /** The schedule group in which its alarms are. */
  readonly scheduleGroup: string;
  /** The ARN of the role by which EventBridge Scheduler invokes `tick`. */
  readonly scheduleRole: string;
  /** The queue of short waits and of ticks that failed. */
  readonly queueUrl: string;
  readonly queueArn: string;
  /** The path of its parameters in Systems Manager: `/orders`. */
  readonly parameters: string;
}

/** The variable of each name. */
export const variables: Readonly<Record<keyof AwsNames, string>> = {
  turns: "LAYOVER_TURNS",
  tick: "LAYOVER_TICK",
  scheduleGroup: "LAYOVER_SCHEDULE_GROUP",
  scheduleRole: "LAYOVER_SCHEDULE_ROLE",
  queueUrl: "LAYOVER_QUEUE_URL",
  queueArn: "LAYOVER_QUEUE_ARN",
  parameters: "LAYOVER_PARAMETERS",
};

/** @throws LayoverError `internal`, naming the variable that is missing */
export function nameOf(env: Readonly<Record<string, string | undefined>>, name: keyof AwsNames): string {
  const value = env[variables[name]];
  if (value) return value;
  throw new LayoverError("internal", `the variable ${variables[name]} is missing`, {
    hint: "The construct Layover of layover/cdk sets it. If you deploy by other means, set it yourself.",
    details: { variable: variables[name] },
  });
}
