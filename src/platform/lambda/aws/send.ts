/** SQS: sends messages. */
import { SendMessageBatchCommand, SQSClient } from "@aws-sdk/client-sqs";
import { type CallOptions, clientTerms, startingChains } from "./client-terms.ts";

export interface QueuedMessage {
  readonly body: string;
  readonly delaySeconds: number;
}

const client = startingChains(new SQSClient(clientTerms));

/** Sends up to ten messages. Answers the indexes of those that the queue refused. */
export async function send(
  queueUrl: string,
  messages: readonly QueuedMessage[],
  options: CallOptions,
): Promise<readonly number[]> {
  const Entries = messages.map(({ body, delaySeconds }, index) => ({
    Id: String(index),
    MessageBody: body,
    DelaySeconds: delaySeconds,
  }));
  const { Failed } = await client.send(new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries }), options);
  return (Failed ?? []).map(({ Id }) => Number(Id));
}
