/** The queue of a deployment on AWS, and the event source mapping that hands its messages to a function. */
import type { CloudFunctions } from "./cloud-functions.ts";
import type { Delays } from "./delays.ts";
import type { Policies } from "./policies.ts";
import type { Resolved } from "./template.ts";

interface Message {
  readonly body: string;
  receives: number;
}

interface CloudQueueOptions {
  readonly template: Resolved;
  readonly policies: Policies;
  readonly functions: CloudFunctions;
  readonly delays: Delays;
  /** How long a message that is to be delayed so long is delayed here, in milliseconds. Left out: so long. */
  readonly delayOf: ((ms: number) => number) | undefined;
}

const mostReaders = 20;

export class CloudQueue {
  readonly deadLetters: string[] = [];
  readonly #options: CloudQueueOptions;
  /** Those that wait for one of the readers of the queue. */
  readonly #messages: Message[] = [];
  #readers = 0;

  constructor(options: CloudQueueOptions) {
    this.#options = options;
  }

  send(message: Message, delayMs: number): void {
    const { delays, delayOf } = this.#options;
    delays.after(delayOf?.(delayMs) ?? delayMs, () => {
      this.#messages.push(message);
      void this.#read();
    });
  }

  /** Sends a message in the name of a role. */
  sendAs(role: string, resource: string, body: string): void {
    if (!this.#options.policies.allows({ role, action: "sqs:SendMessage", resource }))
      throw new Error(`${role} may not send to ${resource}`);
    this.send({ body, receives: 0 }, 0);
  }

  /** Reads the queue as an event source mapping does, which begins with a few readers: each hands over one message after the other. */
  async #read(): Promise<void> {
    if (this.#readers === mostReaders) return;
    const { delays } = this.#options;
    this.#readers += 1;
    for (let next = this.#messages.shift(); next !== undefined && !delays.isClosed; next = this.#messages.shift())
      await this.#deliver(next);
    this.#readers -= 1;
  }

  /** Delivers a message to the function that the event source mapping names. */
  async #deliver(message: Message): Promise<void> {
    const { template, policies, functions } = this.#options;
    const [queue] = template.all("AWS::SQS::Queue").values();
    const mapping = [...template.all("AWS::Lambda::EventSourceMapping").values()][0];
    if (mapping === undefined) throw new Error("no function takes messages of the queue");
    message.receives += 1;
    const name = functions.nameOf(String(mapping["FunctionName"]));
    const role = functions.settingsOf(name)?.role ?? "";
    for (const action of ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"])
      if (!policies.allows({ role, action, resource: String(mapping["EventSourceArn"]) }))
        throw new Error(`Lambda may not take messages in the name of ${role}: ${action}`);
    const record = { messageId: crypto.randomUUID(), body: message.body };
    const { answer, error } = await functions.carryOut(name, { Records: [record] });
    const { batchItemFailures = [] }: { batchItemFailures?: unknown[] } = Object(answer);
    if (error === undefined && batchItemFailures.length === 0) return;
    const all = [...template.all("AWS::SQS::Queue").values()];
    const { maxReceiveCount } = (all.find((each) => each["RedrivePolicy"] !== undefined)?.["RedrivePolicy"] ?? {}) as {
      maxReceiveCount?: number;
    };
    if (message.receives >= (maxReceiveCount ?? 1)) this.deadLetters.push(message.body);
    else this.send(message, Number(queue?.["VisibilityTimeout"] ?? 30) * 1_000);
  }
}
