/** Lambda: invokes a function without waiting for its end. */
import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { type CallOptions, clientTerms, startingChains } from "./client-terms.ts";

const client = startingChains(new LambdaClient(clientTerms));

export async function invoke(name: string, event: string, options: CallOptions): Promise<void> {
  await client.send(new InvokeCommand({ FunctionName: name, InvocationType: "Event", Payload: event }), options);
}
