/**
 * A deployment on AWS, from its synthesized template: functions in environments of their own (environments.ts), the services
 * that they call on the wire (wire.ts), schedules that really fire, a queue that really delivers, a function URL. Roles may
 * do what the template's policies say. Time is this machine's, unless
 * somebody else's clock is given.
 *
 * Faithful: what is asynchronous, at least once, delayed, retried and given up, and by whom; that an environment is frozen
 * between two invocations. Not: the exact pauses of AWS' retries, how it spreads load, its limits of rate.
 */
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { WallClock } from "../../src/core/ports.ts";
import { hostClock } from "../../src/postgres/host-clock.ts";
import { type Ended, Environment, type FunctionSettings } from "./environments.ts";
import { Policies } from "./policies.ts";
import { account, Resolved, region, type Template } from "./template.ts";
import { AwsError, type Call, functionArn, type Received, type Schedule, sentAnswer, Wire } from "./wire.ts";

/** What becomes of a call: it is carried out; refused; refused after it took effect; lost though it was taken; done twice. */
export type Fate = "passes" | "throttled" | "fails after" | "lost" | "twice";

export interface CloudOptions {
  readonly template: Template;
  /** The folder of the bundle. */
  readonly code: string;
  /** The parameters that people make: `/orders/secret` … */
  readonly parameters: Readonly<Record<string, string>>;
  /** Variables of all functions, beside those of the template. */
  readonly variables?: Readonly<Record<string, string>>;
  /** How long after the beginning of its minute a schedule fires, in milliseconds. Default: at once. */
  readonly lateness?: () => number;
  readonly fateOf?: (received: Received) => Fate;
  /** How long a message that is to be delayed so long is delayed here, in milliseconds. Default: so long. */
  readonly delays?: (ms: number) => number;
  /** As for an environment. */
  readonly runtime?: readonly string[];
  /** How many invocations are at work at a time at most. Default: 20. */
  readonly concurrency?: number;
  /** The clock of AWS. Default: this machine's. */
  readonly clock?: WallClock;
}

/** The access key of a person who may do everything. */
export const operator = "operator";

export interface Invoked extends Ended {
  readonly name: string;
  readonly event: unknown;
}

interface Waiting {
  readonly name: string;
  readonly event: unknown;
  readonly attempt: number;
  readonly at: number;
}

interface Message {
  readonly body: string;
  receives: number;
}

export class AwsCloud {
  /** All invocations that have ended. */
  readonly invoked: Invoked[] = [];
  /** How many invocations have not ended yet. What one has done may be seen before it ends. */
  atWork = 0;
  /** What functions wrote. */
  readonly output: string[] = [];
  /** Schedules that stand. */
  readonly schedules = new Map<string, Schedule>();
  readonly deadLetters: string[] = [];
  readonly wire: Wire;
  readonly policies: Policies;
  readonly template: Resolved;
  readonly #options: CloudOptions;
  #functions: ReadonlyMap<string, FunctionSettings>;
  /** Another version of all functions, which takes each second invocation. */
  #canary: ReadonlyMap<string, FunctionSettings> | undefined;
  #invocations = 0;
  readonly #environments = new Map<string, Environment[]>();
  readonly #clock: WallClock;
  readonly #cancels = new Set<() => void>();
  readonly #site: Server;
  #waiting: Waiting[] = [];
  #atWork = 0;
  /** Those that wait for one of the readers of the queue. */
  readonly #messages: Message[] = [];
  #readers = 0;
  #isClosed = false;

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
    this.#functions = new Map(
      [...this.template.all("AWS::Lambda::Function").values()]
        .filter(({ Handler }) => /^index\.(http|turns|tick|forward)$/.test(String(Handler)))
        .map((properties) => {
          const settings = this.#settingsOf(properties);
          return [settings.name, settings];
        }),
    );
    this.#site = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { answer, error } = await this.invoke("http", eventOf(request, Buffer.concat(chunks)));
      const { statusCode = 502, headers = {}, body = error ?? "", isBase64Encoded = false } = Object(answer);
      response.writeHead(statusCode, headers).end(isBase64Encoded ? Buffer.from(body, "base64") : body);
    });
  }

  /** The function URL. */
  get url(): string {
    return `http://127.0.0.1:${(this.#site.address() as AddressInfo).port}`;
  }

  /** Invokes a function and waits for its end, by the name of its handler. */
  async invoke(handler: string, event: unknown): Promise<Ended> {
    return await this.#carryOut(this.#named(handler), event);
  }

  /** Invokes `tick` as the construct does after each deploy. */
  deployed(): void {
    this.#enqueue({ name: this.#named("tick"), event: {}, attempt: 1, at: this.#clock.now() });
  }

  /** Updates all functions: they have these variables, too. What is at work goes on as it was; no event is handed to its process again. */
  update(variables: Readonly<Record<string, string>>): void {
    this.#functions = this.#updated(variables);
    this.#canary = undefined;
    for (const all of this.#environments.values()) {
      for (const environment of all) environment.retire();
    }
  }

  /** Publishes another version of all functions, with these variables, and gives it half of an alias: each second invocation. */
  share(variables: Readonly<Record<string, string>>): void {
    this.#canary = this.#updated(variables);
  }

  #updated(variables: Readonly<Record<string, string>>): ReadonlyMap<string, FunctionSettings> {
    return new Map(
      [...this.#functions].map(([name, settings]) => [
        name,
        { ...settings, variables: { ...settings.variables, ...variables } },
      ]),
    );
  }

  /** Kills the processes of a function, or those of them that are at work. */
  kill(handler: string, which: "all" | "at work" = "all"): number {
    const all = this.#environments.get(this.#named(handler)) ?? [];
    const killed = all.filter((environment) => environment.isAlive && (which === "all" || environment.isAtWork));
    for (const environment of killed) environment.kill();
    return killed.length;
  }

  /** Id of the process of a function that was used last. Undefined: none is alive. */
  pid(handler: string): number | undefined {
    return (this.#environments.get(this.#named(handler)) ?? []).findLast(({ isAlive }) => isAlive)?.pid;
  }

  /** Does what Lambda does when it has tried an event of a function for the last time. */
  giveUpEvent(handler: string, event: unknown): void {
    this.#giveUp(this.#named(handler), event);
  }

  /** Does what EventBridge Scheduler does when it could not invoke the function for an hour. */
  giveUpSchedule(name: string): void {
    const schedule = this.schedules.get(name);
    if (schedule === undefined) throw new Error(`no schedule stands that is named ${name}`);
    this.schedules.delete(name);
    const { Target } = schedule;
    this.#sendAs(Target.RoleArn.split("/").at(-1) ?? "", Target.DeadLetterConfig.Arn, Target.Input);
  }

  /** Lets a schedule fire now, before its time. */
  fire(name: string): void {
    const schedule = this.schedules.get(name);
    if (schedule !== undefined) this.#fire(schedule);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const cancel of this.#cancels) cancel();
    await Promise.all([...this.#environments.values()].flat().map((environment) => environment.close()));
    this.#site.closeAllConnections();
    await Promise.all([this.wire.close(), new Promise((resolve) => this.#site.close(resolve))]);
  }

  #settingsOf({
    FunctionName,
    Handler,
    Role,
    Timeout,
    Environment,
  }: Readonly<Record<string, unknown>>): FunctionSettings {
    const { Variables } = Environment as { readonly Variables: Readonly<Record<string, string>> };
    return {
      name: String(FunctionName),
      handler: String(Handler),
      role: String(Role).split("/").at(-1) ?? "",
      timeoutMs: Number(Timeout) * 1_000,
      variables: { ...Variables, AWS_ENDPOINT_URL: this.wire.endpoint, ...this.#options.variables },
      code: this.#options.code,
      clock: this.#clock,
    };
  }

  #named(handler: string): string {
    const found = [...this.#functions.values()].find((settings) => settings.handler === `index.${handler}`);
    if (found === undefined) throw new Error(`the template has no function ${handler}`);
    return found.name;
  }

  async #serve(received: Received): Promise<unknown> {
    const fate = this.#options.fateOf?.(received) ?? "passes";
    if (fate === "throttled") throw new AwsError("ThrottlingException", 429, "Rate exceeded");
    this.#authorize(received);
    const answer = fate === "lost" ? this.#answerOf(received) : this.#carryOutCall(received);
    if (fate === "twice") this.#carryOutCall(received);
    if (fate === "fails after") throw new AwsError("InternalServerException", 500, "Internal error");
    return answer;
  }

  #authorize({ call, role }: Received): void {
    const check = (action: string, resource: string, context: Readonly<Record<string, string>> = {}) => {
      if (!this.policies.allows({ role, action, resource, context }))
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
        if (call.isAwaited) return this.#carryOut(this.#functionOf(call.name), call.event);
        this.#enqueue({ name: this.#functionOf(call.name), event: call.event, attempt: 1, at: this.#clock.now() });
        return {};
      case "sqs":
        for (const { body, delaySeconds } of call.messages) this.#send({ body, receives: 0 }, delaySeconds * 1_000);
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
    const settings = this.#functions.get(this.#functionOf(call.name));
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

  #functionOf(nameOrArn: string): string {
    const name = nameOrArn.split(":").at(-1) ?? "";
    if (!this.#functions.has(name)) throw new AwsError("ResourceNotFoundException", 404, `no function ${nameOrArn}`);
    return name;
  }

  #createSchedule(schedule: Schedule): object {
    if (this.schedules.has(schedule.name)) throw new AwsError("ConflictException", 409);
    const at = Date.parse(`${schedule.ScheduleExpression.slice(3, -1)}Z`);
    if (at <= this.#clock.now()) throw new AwsError("ValidationException", 400, "the schedule is in the past");
    this.schedules.set(schedule.name, schedule);
    this.#after(at - this.#clock.now() + (this.#options.lateness?.() ?? 0), () => this.#fire(schedule));
    return { ScheduleArn: arn("scheduler", `schedule/${schedule.GroupName}/${schedule.name}`) };
  }

  #fire(schedule: Schedule): void {
    const { name, Target } = schedule;
    if (!this.schedules.delete(name)) return;
    const role = Target.RoleArn.split("/").at(-1) ?? "";
    const event: unknown = JSON.parse(Target.Input);
    if (this.policies.allows({ role, action: "lambda:InvokeFunction", resource: Target.Arn }))
      this.#enqueue({ name: this.#functionOf(Target.Arn), event, attempt: 1, at: this.#clock.now() });
    else throw new Error(`${role} may not invoke ${Target.Arn}`);
  }

  #send(message: Message, delayMs: number): void {
    this.#after(this.#options.delays?.(delayMs) ?? delayMs, () => {
      this.#messages.push(message);
      void this.#read();
    });
  }

  /** Reads the queue as an event source mapping does, which begins with a few readers: each hands over one message after the other. */
  async #read(): Promise<void> {
    if (this.#readers === mostReaders) return;
    this.#readers += 1;
    for (let next = this.#messages.shift(); next !== undefined && !this.#isClosed; next = this.#messages.shift())
      await this.#deliver(next);
    this.#readers -= 1;
  }

  /** Delivers a message to the function that the event source mapping names. */
  async #deliver(message: Message): Promise<void> {
    const [queue] = this.template.all("AWS::SQS::Queue").values();
    const mapping = [...this.template.all("AWS::Lambda::EventSourceMapping").values()][0];
    if (mapping === undefined) throw new Error("no function takes messages of the queue");
    message.receives += 1;
    const name = this.#functionOf(String(mapping["FunctionName"]));
    const role = this.#functions.get(name)?.role ?? "";
    for (const action of ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"])
      if (!this.policies.allows({ role, action, resource: String(mapping["EventSourceArn"]) }))
        throw new Error(`Lambda may not take messages in the name of ${role}: ${action}`);
    const record = { messageId: crypto.randomUUID(), body: message.body };
    const { answer, error } = await this.#carryOut(name, { Records: [record] });
    const { batchItemFailures = [] }: { batchItemFailures?: unknown[] } = Object(answer);
    if (error === undefined && batchItemFailures.length === 0) return;
    const all = [...this.template.all("AWS::SQS::Queue").values()];
    const { maxReceiveCount } = (all.find((each) => each["RedrivePolicy"] !== undefined)?.["RedrivePolicy"] ?? {}) as {
      maxReceiveCount?: number;
    };
    if (message.receives >= (maxReceiveCount ?? 1)) this.deadLetters.push(message.body);
    else this.#send(message, Number(queue?.["VisibilityTimeout"] ?? 30) * 1_000);
  }

  #enqueue(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#work();
  }

  #work(): void {
    while (!this.#isClosed && this.#atWork < (this.#options.concurrency ?? 20)) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#atWork += 1;
      void this.#carryOutEvent(next).finally(() => {
        this.#atWork -= 1;
        this.#work();
      });
    }
  }

  async #carryOutEvent({ name, event, attempt, at }: Waiting): Promise<void> {
    const { error } = await this.#carryOut(name, event);
    if (error === undefined || this.#isClosed) return;
    const { MaximumRetryAttempts = 2 } = this.#asyncConfigOf(name);
    if (attempt <= Number(MaximumRetryAttempts))
      this.#after(attempt * 60_000, () => this.#enqueue({ name, event, attempt: attempt + 1, at }));
    else this.#giveUp(name, event);
  }

  #asyncConfigOf(name: string): Readonly<Record<string, unknown>> {
    const all = [...this.template.all("AWS::Lambda::EventInvokeConfig").values()];
    return all.find(({ FunctionName }) => String(FunctionName) === name) ?? {};
  }

  #giveUp(name: string, event: unknown): void {
    const { OnFailure }: { OnFailure?: { Destination: string } } = Object(
      this.#asyncConfigOf(name)["DestinationConfig"],
    );
    if (OnFailure === undefined) return;
    const record = { version: "1.0", requestContext: { functionArn: functionArn(name) }, requestPayload: event };
    this.#sendAs(this.#functions.get(name)?.role ?? "", OnFailure.Destination, JSON.stringify(record));
  }

  #sendAs(role: string, resource: string, body: string): void {
    if (!this.policies.allows({ role, action: "sqs:SendMessage", resource }))
      throw new Error(`${role} may not send to ${resource}`);
    this.#send({ body, receives: 0 }, 0);
  }

  async #carryOut(name: string, event: unknown): Promise<Ended> {
    this.#invocations += 1;
    const { variables, ...settings } = this.#versionFor(name, this.#invocations);
    const all = this.#environments.get(name) ?? [];
    this.#environments.set(name, all);
    let environment = all.findLast((each) => each.isAlive && !each.isAtWork && each.settings.variables === variables);
    if (environment === undefined) {
      const { runtime } = this.#options;
      environment = new Environment({ ...settings, variables, runtime }, (line) => this.output.push(line));
      all.push(environment);
    }
    this.atWork += 1;
    const ended = await environment.invoke(event).finally(() => {
      this.atWork -= 1;
    });
    this.invoked.push({ ...ended, name: settings.handler.slice("index.".length), event });
    return ended;
  }

  #versionFor(name: string, invocation: number): FunctionSettings {
    const settings = (invocation % 2 === 0 ? this.#canary : undefined)?.get(name) ?? this.#functions.get(name);
    if (settings === undefined) throw new Error(`there is no function ${name}`);
    return settings;
  }

  #after(ms: number, act: () => void): void {
    const isFar = ms > longestTimerMs;
    const cancel = this.#clock.after(Math.max(0, isFar ? longestTimerMs : ms), () => {
      this.#cancels.delete(cancel);
      if (this.#isClosed) return;
      if (isFar) this.#after(ms - longestTimerMs, act);
      else act();
    });
    this.#cancels.add(cancel);
  }
}

const mostReaders = 20;

/** The longest time that a timer of Node's can wait. */
const longestTimerMs = 2 ** 31 - 1;

function arn(service: string, resource: string): string {
  return `arn:aws:${service}:${region}:${account}:${resource}`;
}

/** An event of a function URL, version 2.0 of its payload. */
function eventOf(request: IncomingMessage, body: Buffer): object {
  const { pathname, search } = new URL(request.url ?? "/", "http://localhost");
  return {
    version: "2.0",
    routeKey: "$default",
    rawPath: pathname,
    rawQueryString: search.slice(1),
    headers: request.headers,
    requestContext: {
      domainName: request.headers.host ?? "localhost",
      http: { method: request.method, path: pathname, sourceIp: "127.0.0.1" },
    },
    body: body.length === 0 ? null : body.toString("base64"),
    isBase64Encoded: body.length > 0,
  };
}
