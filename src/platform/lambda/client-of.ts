/**
 * A client for a function of your own, which carries out no workflows: it starts runs, signals them and reads them, and arms
 * and invokes the deployment's functions itself. The construct's `grantStart` gives it the rights.
 *
 *   const withLayover = clientOf({ database: (parameter) => neon(parameter("database-url")) });
 *   export const handler = (event: Order, context: LambdaContext) =>
 *     withLayover(context, (client) => client.start(order, event, { id: event.id }));
 */
import { randomBytes } from "node:crypto";
import type { Client } from "../../client/over-postgres/client.ts";
import { shownError, statusOf } from "../../http/problem.ts";
import { hostClock } from "../../postgres/host-clock.ts";
import { awsServices } from "./aws/services.ts";
import { inRequest } from "./on-http.ts";
import type { LambdaContext, LambdaOptions } from "./options.ts";
import { type LambdaRuntime, servedFunctions } from "./served-functions.ts";

/** A function of one's own may have a timeout of 3 s. */
const marginMs = 500;

export type ClientOfOptions = Pick<
  LambdaOptions,
  "database" | "environment" | "namespace" | "parameters" | "onEvent" | "onError"
>;

/** Does `work` with a client, and resolves when all that it has asked AWS for is sent. Use the client only within it. */
export type WithClient = <Answer>(
  context: LambdaContext,
  work: (client: Omit<Client, "callback" | "resolveCallback" | "rejectCallback">) => Promise<Answer>,
) => Promise<Answer>;

/**
 * Makes what gives a client. It reads the parameter `database-url` and those that you name, and not the root secret: so it
 * answers no callbacks.
 *
 * @throws LayoverError `invalid_name` for the namespace, `invalid_request` for `parameters`
 * @example const withLayover = clientOf({ database: (parameter) => neon(parameter("database-url")) });
 */
export function clientOf(options: ClientOfOptions): WithClient {
  return clientWithin(options, { host: hostClock, services: awsServices(hostClock), env: process.env, engine: {} });
}

export function clientWithin(options: ClientOfOptions, runtime: LambdaRuntime): WithClient {
  const unknown = randomBytes(32).toString("base64");
  const served = servedFunctions(
    { ...options, workflows: [], secrets: () => [unknown], publicUrl: () => "https://unknown.invalid" },
    runtime,
    { ownParameters: ["database-url"], marginMs },
  );
  const { environment, nameOf } = served;
  const wake = async () => await runtime.services.invoke(nameOf("tick"), "{}");
  return async (context, work) => {
    environment.wake();
    try {
      return await inRequest(served, context, work, { wake });
    } catch (error) {
      if (statusOf(shownError(error)) >= 500) await environment.reload();
      throw error;
    } finally {
      environment.rest();
    }
  };
}
