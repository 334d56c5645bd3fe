/**
 * A deployment on AWS, from its synthesized template: functions in environments of their own (environments.ts), the services
 * that they call on the wire (wire.ts), schedules that really fire, a queue that really delivers, a function URL. Roles may
 * do what the template's policies say. Time is this machine's, unless
 * somebody else's clock is given.
 *
 * Faithful: what is asynchronous, at least once, delayed, retried and given up, and by whom; that an environment is frozen
 * between two invocations. Not: the exact pauses of AWS' retries, how it spreads load, its limits of rate.
 */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { WallClock } from "../../src/core/ports.ts";
import { hostClock } from "../../src/postgres/host-clock.ts";
import { arn, authorize } from "./authorize.ts";
import { CloudEvents } from "./cloud-events.ts";
import { CloudFunctions, type FunctionOptions, type Invoked } from "./cloud-functions.ts";
import { CloudQueue } from "./cloud-queue.ts";
import { Delays } from "./delays.ts";
import type { Ended } from "./environments.ts";
import { functionUrl } from "./function-url.ts";
import { Policies } from "./policies.ts";
import { Resolved, type Template } from "./template.ts";
import { AwsError, type Call, type Received, type Schedule, sentAnswer, Wire } from "./wire.ts";

/** What becomes of a call: it is carried out; refused; refused after it took effect; lost though it was taken; done twice. */
export type Fate = "passes" | "throttled" | "fails after" | "lost" | "twice";

export interface CloudOptions extends FunctionOptions {
  readonly template: Template;
  /** The parameters that people make: `/orders/secret` … */
  readonly parameters: Readonly<Record<string, string>>;
  /** How long after the beginning of its minute a schedule fires, in milliseconds. Default: at once. */
  readonly lateness?: () => number;
  readonly fateOf?: (received: Received) => Fate;
  /** How long a message that is to be delayed so long is delayed here, in milliseconds. Default: so long. */
  readonly delays?: (ms: number) => number;
  /** How many invocations are at work at a time at most. Default: 20. */
  readonly concurrency?: number;
  /** The clock of AWS. Default: this machine's. */
  readonly clock?: WallClock;
}

export class AwsCloud {
  /** Schedules that stand. */
  readonly schedules = new Map<string, Schedule>();
  readonly wire: Wire;
  readonly policies: Policies;
  readonly template: Resolved;
  readonly #options: CloudOptions;
  readonly #clock: WallClock;
  readonly #delays: Delays;
  readonly #functions: CloudFunctions;
  readonly #queue: CloudQueue;
  readonly #events: CloudEvents;
  readonly #site: Server;

  static async open(options: CloudOptions): Promise<AwsCloud> {
    const wire = new Wire((received) => cloud.#serve(received));
    const endpoint = await wire.open();
    const cloud: AwsCloud = new AwsCloud(options, wire, endpoint);
    await new Promise<void>((resolve) => cloud.#site.listen(0, "127.0.0.1", resolve));
    return cloud;
  }

  private constructor(options: CloudOptions, wire: Wire, endpoint: string) {
    this.#options = options;
    this.#clock = options.clock ?? hostClock;
    this.wire = wire;
    this.template = new Resolved(options.template, endpoint);
    this.policies = new Policies(this.template);
    const { template, policies } = this;
    this.#delays = new Delays(this.#clock);
    this.#functions = new CloudFunctions({ ...options, template, endpoint, clock: this.#clock });
    this.#queue = new CloudQueue({
      template,
      policies,
      functions: this.#functions,
      delays: this.#delays,
      delayOf: options.delays,
    });
    this.#events = new CloudEvents({
      template,
      functions: this.#functions,
      queue: this.#queue,
      delays: this.#delays,
      concurrency: options.concurrency ?? 20,
    });
    this.#site = functionUrl((event) => this.invoke("http", event));
  }

  // The state of the functions and of the queue: cloud-functions.ts and cloud-queue.ts explain each.

  get invoked(): Invoked[] {
    return this.#functions.invoked;
  }

  get atWork(): number {
    return this.#functions.atWork;
  }

  get output(): readonly string[] {
    return this.#functions.output;
  }

  get deadLetters(): readonly string[] {
    return this.#queue.deadLetters;
  }

  // The operations on functions: cloud-functions.ts explains each.

  update(variables: Readonly<Record<string, string>>): void {
    this.#functions.update(variables);
  }

  share(variables: Readonly<Record<string, string>>): void {
    this.#functions.share(variables);
  }

  kill(handler: string, which: "all" | "at work" = "all"): number {
    return this.#functions.kill(handler, which);
  }

  pid(handler: string): number | undefined {
    return this.#functions.pid(handler);
  }

  /** The function URL. */
  get url(): string {
    return `http://127.0.0.1:${(this.#site.address() as AddressInfo).port}`;
  }

  /** Invokes a function and waits for its end, by the name of its handler. */
  async invoke(handler: string, event: unknown): Promise<Ended> {
    return await this.#functions.carryOut(this.#functions.named(handler), event);
  }

  /** Invokes `tick` as the construct does after each deploy. */
  deployed(): void {
    this.#events.add(this.#functions.named("tick"), {});
  }

  /** Does what Lambda does when it has tried an event of a function for the last time. */
  giveUpEvent(handler: string, event: unknown): void {
    this.#events.giveUp(this.#functions.named(handler), event);
  }

  /** Does what EventBridge Scheduler does when it could not invoke the function for an hour. */
  giveUpSchedule(name: string): void {
    const schedule = this.schedules.get(name);
    if (schedule === undefined) throw new Error(`no schedule stands that is named ${name}`);
    this.schedules.delete(name);
    const { Target } = schedule;
    this.#queue.sendAs(Target.RoleArn.split("/").at(-1) ?? "", Target.DeadLetterConfig.Arn, Target.Input);
  }

  /** Lets a schedule fire now, before its time. */
  fire(name: string): void {
    const schedule = this.schedules.get(name);
    if (schedule !== undefined) this.#fire(schedule);
  }

  async close(): Promise<void> {
    this.#delays.close();
    await this.#functions.close();
    this.#site.closeAllConnections();
    await Promise.all([this.wire.close(), new Promise((resolve) => this.#site.close(resolve))]);
  }

  async #serve(received: Received): Promise<unknown> {
    const fate = this.#options.fateOf?.(received) ?? "passes";
    if (fate === "throttled") throw new AwsError("ThrottlingException", 429, "Rate exceeded");
    authorize(received, this.policies);
    const answer = fate === "lost" ? this.#answerOf(received) : this.#carryOutCall(received);
    if (fate === "twice") this.#carryOutCall(received);
    if (fate === "fails after") throw new AwsError("InternalServerException", 500, "Internal error");
    return answer;
  }

  #answerOf({ call }: Received): unknown {
    return call.service === "sqs" ? sentAnswer(call.messages) : {};
  }

  #carryOutCall(received: Received): unknown {
    const { call } = received;
    switch (call.service) {
      case "scheduler":
        return this.#createSchedule(call.schedule);
      case "lambda":
        if (call.action !== "lambda:InvokeFunction") return this.#toldOf(call);
        if (call.isAwaited) return this.#functions.carryOut(this.#functions.nameOf(call.name), call.event);
        this.#events.add(this.#functions.nameOf(call.name), call.event);
        return {};
      case "sqs":
        for (const { body, delaySeconds } of call.messages)
          this.#queue.send({ body, receives: 0 }, delaySeconds * 1_000);
        return sentAnswer(call.messages);
      case "ssm": {
        const known: Readonly<Record<string, string>> = { ...this.#options.parameters, ...this.#written() };
        const found = call.names.filter((name) => known[name] !== undefined);
        return { Parameters: found.map((Name) => ({ Name, Value: known[Name], Type: "SecureString" })) };
      }
    }
  }

  /** What Lambda tells of a function, or of the account. */
  #toldOf(call: Exclude<Extract<Call, { service: "lambda" }>, { action: "lambda:InvokeFunction" }>): object {
    const { concurrency = 1_000 } = this.#options;
    if (call.action === "lambda:GetAccountSettings")
      return { AccountLimit: { UnreservedConcurrentExecutions: concurrency } };
    const settings = this.#functions.settingsOf(this.#functions.nameOf(call.name));
    return {
      FunctionName: call.name,
      State: "Active",
      LastUpdateStatus: "Successful",
      Environment: { Variables: settings?.variables },
    };
  }

  /** The parameters that the template writes. The URL of the function is known here only. */
  #written(): Readonly<Record<string, string>> {
    const all = [...this.template.all("AWS::SSM::Parameter").values()];
    return Object.fromEntries(all.map(({ Name }) => [String(Name), this.url]));
  }

  #createSchedule(schedule: Schedule): object {
    if (this.schedules.has(schedule.name)) throw new AwsError("ConflictException", 409);
    const at = Date.parse(`${schedule.ScheduleExpression.slice(3, -1)}Z`);
    if (at <= this.#clock.now()) throw new AwsError("ValidationException", 400, "the schedule is in the past");
    this.schedules.set(schedule.name, schedule);
    this.#delays.after(at - this.#clock.now() + (this.#options.lateness?.() ?? 0), () => this.#fire(schedule));
    return { ScheduleArn: arn("scheduler", `schedule/${schedule.GroupName}/${schedule.name}`) };
  }

  #fire(schedule: Schedule): void {
    const { name, Target } = schedule;
    if (!this.schedules.delete(name)) return;
    const role = Target.RoleArn.split("/").at(-1) ?? "";
    const event: unknown = JSON.parse(Target.Input);
    if (this.policies.allows({ role, action: "lambda:InvokeFunction", resource: Target.Arn }))
      this.#events.add(this.#functions.nameOf(Target.Arn), event);
    else throw new Error(`${role} may not invoke ${Target.Arn}`);
  }
}
