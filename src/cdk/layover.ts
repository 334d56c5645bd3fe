/**
 * All of a deployment on AWS as one construct of the CDK: four functions of one bundle, their queue, schedules, roles and
 * logs, a URL, and a tick after each deploy.
 *
 *   new Layover(stack, "Layover", { entry: "functions/lambda.ts", parameters: "/orders" });
 *
 * Two parameters of Systems Manager must be there before the first deploy, since CloudFormation cannot make secrets:
 * `/orders/secret` and `/orders/database-url`.
 */
import { ArnFormat, CfnOutput, Duration, Names, RemovalPolicy, Stack } from "aws-cdk-lib";
import {
  Alarm,
  ComparisonOperator,
  type Metric,
  type MetricOptions,
  TreatMissingData,
} from "aws-cdk-lib/aws-cloudwatch";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import {
  Architecture,
  Code,
  FunctionUrlAuthType,
  Function as LambdaFunction,
  LoggingFormat,
  RecursiveLoop,
  Runtime,
} from "aws-cdk-lib/aws-lambda";
import { LogGroup, RetentionDays } from "aws-cdk-lib/aws-logs";
import type { Asset } from "aws-cdk-lib/aws-s3-assets";
import { CfnSchedule, CfnScheduleGroup } from "aws-cdk-lib/aws-scheduler";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import { StringParameter } from "aws-cdk-lib/aws-ssm";
import { InvocationType, Trigger } from "aws-cdk-lib/triggers";
import { Construct } from "constructs";
import { variables } from "../platform/lambda/aws/settings.ts";
import type { TickEvent } from "../platform/lambda/messages.ts";
import { bundle, entryName } from "./bundle.ts";
import { Logged } from "./logged.ts";
import type { LayoverProps } from "./props.ts";
import { makeQueues } from "./queues.ts";
import { allow, rightsOfCalls } from "./rights.ts";

type FunctionName = "http" | "turns" | "tick" | "forward";

/**
 * Deploys layover: give it the module of the functions and the path of the parameters, and all else has a default.
 *
 * @throws Error if it has neither a function URL nor a `publicUrl`; what esbuild says if the module cannot be bundled
 * @example new Layover(stack, "Layover", { entry: "functions/lambda.ts", parameters: "/orders" });
 */
export class Layover extends Construct {
  /** Answers requests. */
  readonly http: LambdaFunction;
  /** Carries out turns. */
  readonly turns: LambdaFunction;
  /** Does one pass of the scheduler. */
  readonly tick: LambdaFunction;
  /** Hands on what the queue brings. */
  readonly forward: LambdaFunction;
  /** Short waits, deliveries of webhooks that were answered before, and ticks that failed. */
  readonly queue: Queue;
  /** The queue of messages that could not be handed on. It keeps them for a week. No run is lost by them, but deliveries of webhooks that were answered before are. */
  readonly deadLetters: Queue;
  /** Rings when there is a dead letter. Give it an action. */
  readonly deadLetterAlarm: Alarm;
  /** The address at which the world reaches it. */
  readonly url: string;
  readonly #props: LayoverProps;
  readonly #group: CfnScheduleGroup;
  readonly #scheduleRole: Role;
  readonly #bundle: Asset;
  readonly #logged: Logged;

  constructor(scope: Construct, id: string, props: LayoverProps) {
    super(scope, id);
    this.#props = props;
    this.#bundle = bundle(this, props);
    this.#logged = new Logged(this, this.#name);
    const { queue, deadLetters } = makeQueues(this);
    this.queue = queue;
    this.deadLetters = deadLetters;
    this.#group = new CfnScheduleGroup(this, "Schedules");
    this.#scheduleRole = new Role(this, "ScheduleRole", { assumedBy: new ServicePrincipal("scheduler.amazonaws.com") });
    this.#scheduleRole.addToPolicy(allow(["lambda:InvokeFunction"], [this.#arnOf("tick")]));
    this.#scheduleRole.addToPolicy(allow(["sqs:SendMessage"], [this.queue.queueArn]));

    // A request may wait a minute for the end of a run.
    this.http = this.#function("http", { timeout: Duration.seconds(90), reservedConcurrency: props.httpConcurrency });
    this.turns = this.#function("turns", { timeout: props.turnsTimeout ?? Duration.minutes(15) });
    this.tick = this.#function("tick", { timeout: Duration.minutes(15) });
    this.forward = this.#function("forward", { timeout: Duration.seconds(30) });
    this.#grant();
    this.#invocations();
    this.url = this.#publicUrl();
    this.#sweep();
    this.deadLetterAlarm = new Alarm(this, "DeadLetterAlarm", {
      metric: this.metricDeadLetters(),
      threshold: 1,
      evaluationPeriods: 1,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING,
      alarmDescription:
        "layover could not hand on a message. No run is lost; look at the logs of the function forward. A delivery of a webhook is lost unless you redrive it within a week.",
    });
  }

  /**
   * Lets another function start, signal and read runs by `clientOf` of `layover/lambda`: it may arm and invoke what carries
   * them out, and read the address of the database. It does not get the root secret. `parameterNames`: what else it reads.
   */
  grantStart(
    other: LambdaFunction,
    { parameterNames = [] }: { readonly parameterNames?: readonly string[] } = {},
  ): void {
    this.#tell(other);
    this.#allowCalls(other, ["database-url", ...parameterNames]);
    other.addToRolePolicy(allow(["lambda:InvokeFunction"], [this.#arnOf("tick")])); // its client's `wake`
  }

  /**
   * How many errors the functions logged: a run failed or is blocked, or a call to the database or to AWS failed for good.
   * Equal lines within a minute are one. Without errors there is no figure, and so no cost.
   *
   * @example layover.metricLoggedErrors().createAlarm(stack, "Errors", { threshold: 1, evaluationPeriods: 1 });
   */
  metricLoggedErrors(options?: MetricOptions): Metric {
    return this.#logged.metric("LoggedErrors", options);
  }

  /** How many warnings the functions logged: a step failed for good, a lease was lost, a sweep found what no alarm had. */
  metricLoggedWarnings(options?: MetricOptions): Metric {
    return this.#logged.metric("LoggedWarnings", options);
  }

  /** How many messages could not be handed on, and lie there. */
  metricDeadLetters(options?: MetricOptions): Metric {
    return this.deadLetters.metricApproximateNumberOfMessagesVisible(options);
  }

  /** Tells a function what the deployment is made of. */
  #tell(other: LambdaFunction): void {
    const told: Readonly<Record<string, string | undefined>> = {
      LAYOVER_ENVIRONMENT: this.#props.environment,
      [variables.turns]: this.#arnOf("turns"),
      [variables.tick]: this.#arnOf("tick"),
      [variables.scheduleGroup]: this.#group.ref,
      [variables.scheduleRole]: this.#scheduleRole.roleArn,
      [variables.queueUrl]: this.queue.queueUrl,
      [variables.queueArn]: this.queue.queueArn,
      [variables.parameters]: this.#props.parameters,
    };
    for (const [name, value] of Object.entries(told)) if (value !== undefined) other.addEnvironment(name, value);
  }

  #allowCalls(made: LambdaFunction, parameterNames: readonly string[]): void {
    const { parameters, parametersKey } = this.#props;
    const resources = {
      turns: this.#arnOf("turns"),
      group: this.#group.ref,
      scheduleRole: this.#scheduleRole.roleArn,
      queue: this.queue.queueArn,
      parameters: parameterNames.map((name) => `${parameters}/${name}`),
    };
    for (const right of rightsOfCalls(Stack.of(this), resources)) made.addToRolePolicy(right);
    parametersKey?.grantDecrypt(made);
  }

  /**
   * A function's name is made here, and not by CloudFormation. So the functions can name each other without a circle. And
   * the schedules that stand for months name a function that stays.
   */
  #nameOf(name: FunctionName): string {
    return `${this.#name}-${name}`;
  }

  get #name(): string {
    return Names.uniqueResourceName(this, { maxLength: 64 - "-forward".length, separator: "-" });
  }

  #arnOf(name: FunctionName): string {
    const [service, resource] = ["lambda", "function"];
    return Stack.of(this).formatArn({
      service,
      resource,
      resourceName: this.#nameOf(name),
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
  }

  #function(
    name: FunctionName,
    { timeout, reservedConcurrency }: { timeout: Duration; reservedConcurrency?: number | undefined },
  ): LambdaFunction {
    const { memorySize = 512, logRetention = RetentionDays.ONE_MONTH } = this.#props;
    const title = `${name[0]?.toUpperCase()}${name.slice(1)}`;
    const logGroup = new LogGroup(this, `${title}Logs`, {
      retention: logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.#logged.count(logGroup, title);
    const role = new Role(this, `${title}Role`, { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
    logGroup.grantWrite(role);
    const made = new LambdaFunction(this, title, {
      functionName: this.#nameOf(name),
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      code: Code.fromBucketV2(this.#bundle.bucket, this.#bundle.s3ObjectKey),
      handler: `${entryName}.${name}`,
      role,
      timeout,
      memorySize,
      logGroup,
      loggingFormat: LoggingFormat.JSON,
      recursiveLoop: RecursiveLoop.ALLOW,
      ...(reservedConcurrency !== undefined && { reservedConcurrentExecutions: reservedConcurrency }),
      environment: {
        NODE_OPTIONS: "--enable-source-maps",
        LAYOVER_DEPLOYMENT: this.#bundle.assetHash,
      },
    });
    this.#tell(made);
    return made;
  }

  /** Grants each function what it uses, and no more. */
  #grant(): void {
    const read = ["secret", "secret-old", "database-url", "public-url", ...(this.#props.parameterNames ?? [])];
    for (const made of [this.http, this.turns, this.tick]) this.#allowCalls(made, read);
    this.forward.addToRolePolicy(allow(["lambda:InvokeFunction"], [this.#arnOf("turns"), this.#arnOf("tick")]));
    this.forward.addToRolePolicy(allow(["sqs:SendMessage"], [this.queue.queueArn]));
    const receiving = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"];
    this.forward.addToRolePolicy(allow(receiving, [this.queue.queueArn]));
  }

  /** How often AWS tries an invocation, and what becomes of it then. */
  #invocations(): void {
    // A turn that is lost is due again soon. If AWS tried it again by itself, a turn that kills its process would come twice.
    this.turns.configureAsyncInvoke({ maxEventAge: Duration.minutes(15), retryAttempts: 0 });
    this.tick.configureAsyncInvoke({
      maxEventAge: Duration.hours(1),
      retryAttempts: 2,
      // SqsDestination would grant more than is needed.
      onFailure: { bind: () => ({ destination: this.queue.queueArn }) },
    });
    this.forward.addEventSourceMapping("Queue", {
      eventSourceArn: this.queue.queueArn,
      batchSize: 10,
      reportBatchItemFailures: true,
    });
  }

  #publicUrl(): string {
    const { parameters, functionUrl = true, publicUrl } = this.#props;
    const own = functionUrl ? this.http.addFunctionUrl({ authType: FunctionUrlAuthType.NONE }).url : undefined;
    const url = publicUrl ?? own;
    if (url === undefined)
      throw new Error("Layover: without a function URL, publicUrl must say where the function http is reached");
    // A function cannot have its own URL as a variable: that is a circle to CloudFormation. So it reads a parameter.
    const parameter = new StringParameter(this, "PublicUrl", {
      parameterName: `${parameters}/public-url`,
      stringValue: url,
    });
    new CfnOutput(this, "Url", { value: url, description: "Where layover answers" });
    new CfnOutput(this, "Name", { value: this.#name, description: "What `layover doctor --aws` takes" });
    // The first tick of a deployment looks at all runs that are ready or blocked.
    new Trigger(this, "Deployed", {
      handler: this.tick,
      invocationType: InvocationType.EVENT,
      executeAfter: [this.http, this.turns, this.tick, this.forward, this.#group, this.#scheduleRole, parameter],
    });
    return url;
  }

  #sweep(): void {
    const { sweep = Duration.hours(6) } = this.#props;
    new CfnSchedule(this, "Sweep", {
      groupName: this.#group.ref,
      flexibleTimeWindow: { mode: "FLEXIBLE", maximumWindowInMinutes: 60 },
      scheduleExpression: `rate(${sweep.toMinutes()} minutes)`,
      target: {
        arn: this.#arnOf("tick"),
        roleArn: this.#scheduleRole.roleArn,
        input: JSON.stringify({ sweep: true } satisfies TickEvent),
        retryPolicy: { maximumEventAgeInSeconds: 3_600 },
        deadLetterConfig: { arn: this.queue.queueArn },
      },
    });
  }
}
