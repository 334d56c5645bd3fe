/** Lambda: invokes a function, without waiting for its end or until it has ended. */
import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { type CallOptions, clientTerms, startingChains } from "./client-terms.ts";

const client = startingChains(new LambdaClient(clientTerms));

export async function invoke(name: string, event: string, options: CallOptions): Promise<void> {
  await client.send(new InvokeCommand({ FunctionName: name, InvocationType: "Event", Payload: event }), options);
}

/** Rejects if the function did. */
export async function ask(name: string, event: string, options: CallOptions): Promise<void> {
  const { FunctionError, Payload } = await client.send(
    new InvokeCommand({ FunctionName: name, InvocationType: "RequestResponse", Payload: event }),
    { ...options, requestTimeout: askMs },
  );
  if (FunctionError === undefined) return;
  const { errorMessage }: { readonly errorMessage?: unknown } = Object(
    JSON.parse(Payload?.transformToString() ?? "{}"),
  );
  throw new Error(`the function ended by an error: ${String(errorMessage ?? FunctionError)}`);
}

/** How long the function may take: it may have to begin, and wake a database. */
const askMs = 9_000;
