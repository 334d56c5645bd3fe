/** The services of AWS as an environment calls them: they take a while, and refuse or throttle now and then. */
import { within } from "../../../src/core/waits.ts";
import type { OneShot } from "../../../src/platform/lambda/aws/schedule.ts";
import type { QueuedMessage } from "../../../src/platform/lambda/aws/send.ts";
import type { Services } from "../../../src/platform/lambda/aws/services.ts";
import { describeTurns, type Invocation } from "./aws-events.ts";
import { type LambdaEnvironment, parameters } from "./lambda-environment.ts";
import type { Ground } from "./outside.ts";

/** How long a call of a service may take. As services.ts has it. */
const callMs = 10_000;
/** One call in so many of Systems Manager or of the schedules meets a throttle, which then lasts for up to so long. */
const throttling = 50;
const longestThrottleMs = 20_000;

interface AwsServicesOptions {
  readonly ground: Ground;
  readonly invoke: (name: Invocation["name"], payload: string) => void;
  readonly send: (message: QueuedMessage) => void;
  readonly schedule: (oneShot: OneShot) => "created" | "exists";
  /** A service has refused something at this instant. */
  readonly outlast: (at: number) => void;
}

export class AwsServices {
  readonly #options: AwsServicesOptions;
  /** Each service refuses all calls until this instant. */
  readonly #throttledUntil = new Map<string, number>();

  constructor(options: AwsServicesOptions) {
    this.#options = options;
  }

  of(asking: LambdaEnvironment): Services {
    const limited = <Answer>(answer: Promise<Answer>): Promise<Answer> =>
      within(asking.timers, callMs, answer, () => new Error("AWS did not answer in time"));
    return {
      invoke: (name, payload) =>
        limited(
          asking.ask("dispatch", name === "tick" ? "a tick" : describeTurns(payload), async () => {
            this.#refuse();
            this.#options.invoke(name === "tick" ? "tick" : "turns", payload);
          }),
        ),
      send: (_queue, messages) =>
        limited(
          asking.ask("dispatch", `${messages.length} messages`, async () => {
            this.#refuse();
            for (const message of messages) this.#options.send(message);
            return [];
          }),
        ),
      ask: async () => {
        throw new Error("nothing is asked for here");
      },
      schedule: (oneShot) =>
        limited(
          asking.ask("alarm", oneShot.name, async () => {
            this.#throttle("schedules");
            return this.#options.schedule(oneShot);
          }),
        ),
      parameters: async () => {
        this.#throttle("parameters");
        return parameters;
      },
    };
  }

  /** Whatever is asked of the service, it refuses for a while. */
  #throttle(service: "parameters" | "schedules"): void {
    const { below, now } = this.#options.ground;
    if (below(throttling) === 0) this.#throttledUntil.set(service, now() + below(longestThrottleMs));
    if ((this.#throttledUntil.get(service) ?? 0) < now()) return;
    this.#options.outlast(now());
    throw new Error(`there are too many calls of the ${service}`);
  }

  #refuse(): void {
    const { refusal, timeOf, now } = this.#options.ground;
    const at = timeOf(now());
    if (refusal === undefined || at < refusal.fromMs || at >= refusal.untilMs) return;
    this.#options.outlast(now());
    throw new Error("AWS takes nothing");
  }
}
