/**
 * AWS' services, as much of them as is used. The client of each is loaded and made when it is first needed, since a cold
 * start pays for every module.
 *
 * Lambda stops a chain of functions that call each other after some 16 calls. It follows the chain by a trace header, which
 * AWS' clients send along. Each dispatch begins a new chain, so that header is left out: otherwise a run of many steps would
 * be stopped, or the user's own function that its steps call.
 */
import type { Lambda } from "@aws-sdk/client-lambda";
import type { Scheduler } from "@aws-sdk/client-scheduler";
import type { SQS } from "@aws-sdk/client-sqs";
import type { SSM } from "@aws-sdk/client-ssm";
import type { HostClock } from "../../../core/ports.ts";

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

export interface QueuedMessage {
  readonly body: string;
  readonly delaySeconds: number;
}

export interface Services {
  /** Invokes a function without waiting for its end. */
  invoke(name: string, event: string): Promise<void>;
  /** "exists": there is one of this name. Rejects with an error that {@link isRefused} if its minute is over. */
  schedule(schedule: OneShot): Promise<"created" | "exists">;
  /** Sends up to ten messages. Answers the indexes of those that the queue refused. */
  send(queueUrl: string, messages: readonly QueuedMessage[]): Promise<readonly number[]>;
  /** Reads up to ten parameters, decrypted. One that does not exist is left out. */
  parameters(names: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** How long one call may take, with the tries that the client makes by itself. */
const callMs = 10_000;

/** How often a client tries: what is throttled or fails on AWS' side is tried again, after pauses of random length. */
const tries = { maxAttempts: 4 };

/** How long to wait for a connection, and for the answer to one try. */
const requestHandler = { connectionTimeout: 2_000, requestTimeout: 4_000, throwOnRequestTimeout: true };

export function awsServices(host: HostClock): Services {
  const terms = { ...tries, requestHandler };
  const lambda = once(async () => startingChains(new (await import("@aws-sdk/client-lambda")).Lambda(terms)));
  const scheduler = once(async () => startingChains(new (await import("@aws-sdk/client-scheduler")).Scheduler(terms)));
  const sqs = once(async () => startingChains(new (await import("@aws-sdk/client-sqs")).SQS(terms)));
  const ssm = once(async () => startingChains(new (await import("@aws-sdk/client-ssm")).SSM(terms)));
  const limited = async <Answer>(call: (options: { abortSignal: AbortSignal }) => Promise<Answer>): Promise<Answer> => {
    const limit = new AbortController();
    const stop = host.after(callMs, () => limit.abort());
    try {
      return await call({ abortSignal: limit.signal });
    } finally {
      stop();
    }
  };
  return {
    invoke: (name, event) => limited((options) => invoke(lambda, { name, event }, options)),
    schedule: (schedule) => limited((options) => createSchedule(scheduler, schedule, options)),
    send: (queueUrl, messages) => limited((options) => sendMessages(sqs, { queueUrl, messages }, options)),
    parameters: (names) => limited((options) => readParameters(ssm, names, options)),
  };
}

type Client<Made> = () => Promise<Made>;

interface CallOptions {
  readonly abortSignal: AbortSignal;
}

async function invoke(lambda: Client<Lambda>, called: { name: string; event: string }, options: CallOptions) {
  const { name: FunctionName, event: Payload } = called;
  await (await lambda()).invoke({ FunctionName, InvocationType: "Event", Payload }, options);
}

async function createSchedule(
  scheduler: Client<Scheduler>,
  schedule: OneShot,
  options: CallOptions,
): Promise<"created" | "exists"> {
  const { name, group, at, target, role, input, deadLetters } = schedule;
  const call = {
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
  } as const;
  try {
    await (await scheduler()).createSchedule(call, options);
    return "created";
  } catch (error) {
    if (error instanceof Error && error.name === "ConflictException") return "exists";
    throw error;
  }
}

/** How long EventBridge Scheduler tries to invoke the function, in seconds. After that the event goes to the queue. */
const longestEventAge = 3_600;

/** Whether a schedule was refused for what it says. AWS has one name for a minute that is over and for every other mistake. */
export function isRefused(error: unknown): boolean {
  return error instanceof Error && error.name === "ValidationException";
}

async function sendMessages(
  sqs: Client<SQS>,
  { queueUrl, messages }: { readonly queueUrl: string; readonly messages: readonly QueuedMessage[] },
  options: CallOptions,
) {
  const Entries = messages.map(({ body, delaySeconds }, index) => ({
    Id: String(index),
    MessageBody: body,
    DelaySeconds: delaySeconds,
  }));
  const { Failed } = await (await sqs()).sendMessageBatch({ QueueUrl: queueUrl, Entries }, options);
  return (Failed ?? []).map(({ Id }) => Number(Id));
}

async function readParameters(ssm: Client<SSM>, names: readonly string[], options: CallOptions) {
  const { Parameters } = await (await ssm()).getParameters({ Names: [...names], WithDecryption: true }, options);
  return new Map(
    (Parameters ?? []).flatMap(({ Name, Value }) => (Name && Value ? [[Name, Value] as const] : [])),
  );
}

function once<Made>(make: Client<Made>): Client<Made> {
  let made: Promise<Made> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

function startingChains<Made extends { readonly middlewareStack: { remove(name: string): boolean } }>(client: Made): Made {
  client.middlewareStack.remove("recursionDetectionMiddleware");
  return client;
}
