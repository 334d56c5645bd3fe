/** The rights of the functions of a deployment. Each function gets the least that it needs. */
import type { Stack } from "aws-cdk-lib";
import { Effect, PolicyStatement } from "aws-cdk-lib/aws-iam";

export function allow(actions: string[], resources: string[]): PolicyStatement {
  return new PolicyStatement({ effect: Effect.ALLOW, actions, resources });
}

export interface CallResources {
  /** ARN of the function `turns`. */
  readonly turns: string;
  /** Name of the group of schedules. */
  readonly group: string;
  /** ARN of the role that the schedules take on. */
  readonly scheduleRole: string;
  /** ARN. */
  readonly queue: string;
  /** Names of the parameters that are read. */
  readonly parameters: readonly string[];
}

/** Answers what every call does that makes a run ready, and the reading of parameters. */
export function rightsOfCalls(stack: Stack, resources: CallResources): readonly PolicyStatement[] {
  const { turns, group, scheduleRole, queue, parameters } = resources;
  const schedules = stack.formatArn({ service: "scheduler", resource: "schedule", resourceName: `${group}/*` });
  const read = parameters.map((name) =>
    stack.formatArn({ service: "ssm", resource: "parameter", resourceName: name.replace(/^\//, "") }),
  );
  const pass = new PolicyStatement({
    effect: Effect.ALLOW,
    actions: ["iam:PassRole"],
    resources: [scheduleRole],
    conditions: { StringEquals: { "iam:PassedToService": "scheduler.amazonaws.com" } },
  });
  return [
    allow(["lambda:InvokeFunction"], [turns]),
    allow(["scheduler:CreateSchedule"], [schedules]),
    pass,
    allow(["sqs:SendMessage"], [queue]),
    allow(["ssm:GetParameters"], read),
  ];
}
