/** What Lambda gives to the functions under test, where no test server of AWS is needed: variables, a context, quiet services. */
import type { LambdaFunctions } from "../../src/platform/lambda/serve.ts";
import { secret } from "./a-worker.ts";

export const lambdaEnv = {
  LAYOVER_TURNS: "turns",
  LAYOVER_TICK: "tick",
  LAYOVER_SCHEDULE_GROUP: "orders",
  LAYOVER_SCHEDULE_ROLE: "role",
  LAYOVER_QUEUE_URL: "https://queue.example",
  LAYOVER_QUEUE_ARN: "queue",
  LAYOVER_PARAMETERS: "/orders",
};

export const lambdaContext = { awsRequestId: "request-1", getRemainingTimeInMillis: () => 900_000 };

/** Services that do as they are asked. The events of invocations are put into `invoked`, and nobody carries them out. */
export function quietServices(publicUrl: string, invoked: unknown[]) {
  return {
    invoke: async (_: string, event: string) => void invoked.push(JSON.parse(event)),
    ask: async () => {},
    schedule: async () => "created" as const,
    send: async () => [],
    parameters: async () =>
      new Map([
        ["/orders/secret", secret],
        ["/orders/public-url", publicUrl],
      ]),
  };
}

/** Posts to the function URL. Answers its status. */
export async function postTo(
  functions: LambdaFunctions,
  {
    path,
    headers,
    body,
  }: { readonly path: string; readonly headers: Readonly<Record<string, string>>; readonly body: string },
): Promise<number | undefined> {
  const event = {
    version: "2.0",
    routeKey: "$default",
    rawPath: path,
    rawQueryString: "",
    headers: { host: "orders.example", ...headers },
    requestContext: { domainName: "orders.example", http: { method: "POST", path } },
    body,
    isBase64Encoded: false,
  };
  // As much of AWS' event as is read.
  const { statusCode } = await functions.http(
    event as unknown as Parameters<LambdaFunctions["http"]>[0],
    lambdaContext,
  );
  return statusCode;
}
