/** Asynchronous invocations of a deployment on AWS: they wait, are tried again after an error, and are given up. */
import type { CloudFunctions } from "./cloud-functions.ts";
import type { CloudQueue } from "./cloud-queue.ts";
import type { Delays } from "./delays.ts";
import type { Resolved } from "./template.ts";
import { functionArn } from "./wire.ts";

interface Waiting {
  readonly name: string;
  readonly event: unknown;
  readonly attempt: number;
}

interface CloudEventsOptions {
  readonly template: Resolved;
  readonly functions: CloudFunctions;
  readonly queue: CloudQueue;
  readonly delays: Delays;
  /** How many of them are at work at a time at most. */
  readonly concurrency: number;
}

export class CloudEvents {
  readonly #options: CloudEventsOptions;
  #waiting: Waiting[] = [];
  #atWork = 0;

  constructor(options: CloudEventsOptions) {
    this.#options = options;
  }

  /** Takes an event for a function. */
  add(name: string, event: unknown): void {
    this.#enqueue({ name, event, attempt: 1 });
  }

  #enqueue(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#work();
  }

  #work(): void {
    while (!this.#options.delays.isClosed && this.#atWork < this.#options.concurrency) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#atWork += 1;
      void this.#carryOutEvent(next).finally(() => {
        this.#atWork -= 1;
        this.#work();
      });
    }
  }

  async #carryOutEvent({ name, event, attempt }: Waiting): Promise<void> {
    const { error } = await this.#options.functions.carryOut(name, event);
    if (error === undefined || this.#options.delays.isClosed) return;
    const { MaximumRetryAttempts = 2 } = this.#asyncConfigOf(name);
    if (attempt <= Number(MaximumRetryAttempts))
      this.#options.delays.after(attempt * 60_000, () => this.#enqueue({ name, event, attempt: attempt + 1 }));
    else this.giveUp(name, event);
  }

  #asyncConfigOf(name: string): Readonly<Record<string, unknown>> {
    const all = [...this.#options.template.all("AWS::Lambda::EventInvokeConfig").values()];
    return all.find(({ FunctionName }) => String(FunctionName) === name) ?? {};
  }

  /** Does with an event what is configured for one that has failed for the last time. */
  giveUp(name: string, event: unknown): void {
    const { OnFailure }: { OnFailure?: { Destination: string } } = Object(
      this.#asyncConfigOf(name)["DestinationConfig"],
    );
    if (OnFailure === undefined) return;
    const record = { version: "1.0", requestContext: { functionArn: functionArn(name) }, requestPayload: event };
    this.#options.queue.sendAs(
      this.#options.functions.settingsOf(name)?.role ?? "",
      OnFailure.Destination,
      JSON.stringify(record),
    );
  }
}
