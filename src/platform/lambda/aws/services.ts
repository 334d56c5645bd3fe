/**
 * AWS' services, as much of them as is used. The client of each is loaded when it is first needed, since a cold start pays
 * for every module.
 */
import type { HostClock } from "../../../core/ports.ts";
import type { CallOptions } from "./client-terms.ts";
import type { OneShot } from "./schedule.ts";
import type { QueuedMessage } from "./send.ts";

export interface Services {
  /** Invokes a function without waiting for its end. */
  invoke(name: string, event: string): Promise<void>;
  /** Invokes a function and waits for its end. Rejects if the function did. */
  ask(name: string, event: string): Promise<void>;
  /** "exists": there is one of this name. Rejects with an error that {@link isRefused} if its minute is over. */
  schedule(schedule: OneShot): Promise<"created" | "exists">;
  /** Sends up to ten messages. Answers the indexes of those that the queue refused. */
  send(queueUrl: string, messages: readonly QueuedMessage[]): Promise<readonly number[]>;
  /** Reads up to ten parameters, decrypted. One that does not exist is left out. */
  parameters(names: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** How long one call may take, with the tries that the client makes by itself. */
const callMs = 10_000;

export function awsServices(host: HostClock): Services {
  const limited = async <Answer>(call: (options: CallOptions) => Promise<Answer>): Promise<Answer> => {
    const limit = new AbortController();
    const stop = host.after(callMs, () => limit.abort());
    try {
      return await call({ abortSignal: limit.signal });
    } finally {
      stop();
    }
  };
  return {
    invoke: (name, event) => limited(async (options) => (await import("./invoke.ts")).invoke(name, event, options)),
    ask: (name, event) => limited(async (options) => (await import("./invoke.ts")).ask(name, event, options)),
    schedule: (oneShot) => limited(async (options) => (await import("./schedule.ts")).schedule(oneShot, options)),
    send: (queueUrl, messages) =>
      limited(async (options) => (await import("./send.ts")).send(queueUrl, messages, options)),
    parameters: (names) => limited(async (options) => (await import("./parameters.ts")).parameters(names, options)),
  };
}

/** Whether a schedule was refused for what it says. AWS has one name for a minute that is over and for every other mistake. */
export function isRefused(error: unknown): boolean {
  return error instanceof Error && error.name === "ValidationException";
}
