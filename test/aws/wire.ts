/**
 * AWS' services on the wire, as much of them as layover calls: EventBridge Scheduler, Lambda's Invoke and what it tells of
 * functions, SQS, Systems Manager.
 * The real clients of AWS talk to it. What becomes of a call is said by whoever opens it. Signatures are not checked: the
 * access key in them is the name of the caller's role, and the role's policies decide.
 *
 * Faithful: paths, targets, bodies, errors and their names, MD5 of messages, idempotency by the name of a schedule.
 * Not: signatures, paging, and all that layover does not call.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import * as z from "zod";
import { account, region } from "./template.ts";

/** A call as its service understands it. */
export type Call =
  | { readonly service: "scheduler"; readonly action: "scheduler:CreateSchedule"; readonly schedule: Schedule }
  | {
      readonly service: "lambda";
      readonly action: "lambda:InvokeFunction";
      readonly name: string;
      readonly event: unknown;
      /** Whether the caller waits for the end of the function. */
      readonly isAwaited: boolean;
    }
  | {
      readonly service: "sqs";
      readonly action: "sqs:SendMessage";
      readonly queueUrl: string;
      readonly messages: readonly { readonly id: string; readonly body: string; readonly delaySeconds: number }[];
    }
  | { readonly service: "lambda"; readonly action: "lambda:GetFunctionConfiguration"; readonly name: string }
  | { readonly service: "lambda"; readonly action: "lambda:GetAccountSettings" }
  | { readonly service: "ssm"; readonly action: "ssm:GetParameters"; readonly names: readonly string[] };

export interface Received {
  readonly call: Call;
  /** The access key by which it was signed. */
  readonly role: string;
  readonly headers: IncomingMessage["headers"];
}

/** An error as AWS answers it. */
export class AwsError extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, status: number, message: string = code) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/** Carries out a call, and answers its body. Rejects with an {@link AwsError}. */
export type Serve = (received: Received) => Promise<unknown>;

const Schedule = z.object({
  GroupName: z.string(),
  ScheduleExpression: z.string().regex(/^at\(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\)$/),
  FlexibleTimeWindow: z.object({ Mode: z.literal("OFF") }),
  ActionAfterCompletion: z.literal("DELETE"),
  Target: z.object({
    Arn: z.string(),
    RoleArn: z.string(),
    Input: z.string(),
    RetryPolicy: z.object({ MaximumEventAgeInSeconds: z.number() }),
    DeadLetterConfig: z.object({ Arn: z.string() }),
  }),
});

export interface Schedule extends z.infer<typeof Schedule> {
  readonly name: string;
}

const Messages = z.object({
  QueueUrl: z.string(),
  Entries: z
    .array(z.object({ Id: z.string(), MessageBody: z.string(), DelaySeconds: z.number().min(0).max(900).default(0) }))
    .min(1)
    .max(10),
});

export class Wire {
  readonly #server: Server;
  readonly #serve: Serve;
  readonly received: Received[] = [];

  constructor(serve: Serve) {
    this.#serve = serve;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        const { code, status, message } =
          error instanceof AwsError ? error : new AwsError("ValidationException", 400, String(error));
        response.writeHead(status, { "content-type": "application/json", "x-amzn-errortype": code });
        response.end(JSON.stringify({ __type: code, Message: message, message }));
      });
    });
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this.endpoint;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const role = /Credential=([^/]+)\//.exec(request.headers.authorization ?? "")?.[1] ?? "nobody";
    const received = { call: callOf(request, text), role, headers: request.headers };
    this.received.push(received);
    const answer = await this.#serve(received);
    const { call } = received;
    const headers = { "content-type": "application/json", "x-amzn-requestid": "request" };
    if (call.action !== "lambda:InvokeFunction") response.writeHead(200, headers).end(JSON.stringify(answer));
    else if (!call.isAwaited) response.writeHead(202, headers).end();
    else {
      const { error, answer: payload = null }: { readonly error?: unknown; readonly answer?: unknown } = Object(answer);
      if (error !== undefined) response.setHeader("x-amz-function-error", "Unhandled");
      response.writeHead(200, headers).end(JSON.stringify(error === undefined ? payload : { errorMessage: error }));
    }
  }
}

function callOf({ url = "", headers }: IncomingMessage, text: string): Call {
  const { pathname } = new URL(url, "http://aws.invalid");
  const body: unknown = text === "" ? undefined : JSON.parse(text);
  const schedule = /^\/schedules\/([0-9A-Za-z._-]{1,64})$/.exec(pathname)?.[1];
  if (schedule !== undefined)
    return {
      service: "scheduler",
      action: "scheduler:CreateSchedule",
      schedule: { ...Schedule.parse(body), name: schedule },
    };
  const name = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/.exec(pathname)?.[1];
  if (name !== undefined) {
    const type = headers["x-amz-invocation-type"];
    if (type !== "Event" && type !== "RequestResponse") throw new AwsError("InvalidParameterValueException", 400);
    if (text.length > 1_048_576) throw new AwsError("RequestTooLargeException", 413);
    return {
      service: "lambda",
      action: "lambda:InvokeFunction",
      name: decodeURIComponent(name),
      event: body,
      isAwaited: type !== "Event",
    };
  }
  const configured = /^\/2015-03-31\/functions\/([^/]+)\/configuration$/.exec(pathname)?.[1];
  if (configured !== undefined)
    return { service: "lambda", action: "lambda:GetFunctionConfiguration", name: decodeURIComponent(configured) };
  if (pathname === "/2016-08-19/account-settings") return { service: "lambda", action: "lambda:GetAccountSettings" };
  switch (headers["x-amz-target"]) {
    case "AmazonSQS.SendMessageBatch": {
      const { QueueUrl: queueUrl, Entries } = Messages.parse(body);
      const messages = Entries.map(({ Id: id, MessageBody, DelaySeconds: delaySeconds }) => ({
        id,
        body: MessageBody,
        delaySeconds,
      }));
      return { service: "sqs", action: "sqs:SendMessage", queueUrl, messages };
    }
    case "AmazonSSM.GetParameters": {
      const { Names } = z
        .object({ Names: z.array(z.string()).min(1).max(10), WithDecryption: z.literal(true) })
        .parse(body);
      return { service: "ssm", action: "ssm:GetParameters", names: Names };
    }
    default:
      throw new AwsError("UnknownOperationException", 404, `nobody answers ${pathname} here`);
  }
}

/** What the client of SQS wants to read of messages that were taken. */
export function sentAnswer(messages: readonly { readonly id: string; readonly body: string }[]): object {
  const Successful = messages.map(({ id, body }) => ({
    Id: id,
    MessageId: crypto.randomUUID(),
    MD5OfMessageBody: createHash("md5").update(body).digest("hex"),
  }));
  return { Successful, Failed: [] };
}

export function functionArn(name: string): string {
  return name.startsWith("arn:") ? name : `arn:aws:lambda:${region}:${account}:function:${name}`;
}
