/** EventBridge Scheduler: makes a schedule that fires once. */
import { CreateScheduleCommand, SchedulerClient } from "@aws-sdk/client-scheduler";
import { type CallOptions, clientTerms, startingChains } from "./client-terms.ts";

/** A schedule that fires once. */
export interface OneShot {
  readonly name: string;
  readonly group: string;
  /** The instant of its minute, in epoch milliseconds. It fires within the minute that begins then. */
  readonly at: number;
  readonly target: string;
  readonly role: string;
  /** The event that the function gets, as JSON. */
  readonly input: string;
  /** The ARN of the queue that gets the event if the function cannot be invoked. */
  readonly deadLetters: string;
}

/** How long EventBridge Scheduler tries to invoke the function, in seconds. After that the event goes to the queue. */
const longestEventAge = 3_600;

const client = startingChains(new SchedulerClient(clientTerms));

export async function schedule(
  { name, group, at, target, role, input, deadLetters }: OneShot,
  options: CallOptions,
): Promise<"created" | "exists"> {
  const command = new CreateScheduleCommand({
    Name: name,
    GroupName: group,
    ScheduleExpression: `at(${new Date(at).toISOString().slice(0, 19)})`,
    ScheduleExpressionTimezone: "UTC",
    FlexibleTimeWindow: { Mode: "OFF" },
    ActionAfterCompletion: "DELETE",
    Target: {
      Arn: target,
      RoleArn: role,
      Input: input,
      RetryPolicy: { MaximumEventAgeInSeconds: longestEventAge },
      DeadLetterConfig: { Arn: deadLetters },
    },
  });
  try {
    await client.send(command, options);
    return "created";
  } catch (error) {
    if (error instanceof Error && error.name === "ConflictException") return "exists";
    throw error;
  }
}
