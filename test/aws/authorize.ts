/** Decides by the policies of the template whether a role may make a call. */
import type { Policies } from "./policies.ts";
import { account, region } from "./template.ts";
import { AwsError, functionArn, type Received } from "./wire.ts";

/** The access key of a person who may do everything. */
export const operator = "operator";

/** @throws AwsError where the role may not make the call. */
export function authorize({ call, role }: Received, policies: Policies): void {
  const check = (action: string, resource: string, context: Readonly<Record<string, string>> = {}) => {
    if (!policies.allows({ role, action, resource, context }))
      throw new AwsError(
        "AccessDeniedException",
        403,
        `${role} is not authorized to perform: ${action} on ${resource}`,
      );
  };
  if (role === operator) return;
  switch (call.service) {
    case "scheduler":
      check(call.action, arn("scheduler", `schedule/${call.schedule.GroupName}/${call.schedule.name}`));
      check("iam:PassRole", call.schedule.Target.RoleArn, { "iam:PassedToService": "scheduler.amazonaws.com" });
      return;
    case "lambda":
      check(call.action, "name" in call ? functionArn(call.name) : "*");
      return;
    case "sqs":
      check(call.action, arn("sqs", call.queueUrl.split("/").at(-1) ?? ""));
      return;
    case "ssm":
      for (const name of call.names) check(call.action, arn("ssm", `parameter${name}`));
  }
}

export function arn(service: string, resource: string): string {
  return `arn:aws:${service}:${region}:${account}:${resource}`;
}
