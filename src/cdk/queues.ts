/** The queue of a deployment, and that of its dead letters. */
import { Duration } from "aws-cdk-lib";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";

/** How long a message is hidden from others while it is forwarded. AWS asks for six times the function's timeout. */
const visibility = Duration.minutes(3);

/**
 * How often a message is received before it is a dead letter: for 12.5 hours. Where the account has no concurrency left, AWS
 * gives a message back after the visibility, and that counts as well. What is no event is reported, and never comes again.
 * https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
 */
const mostReceives = 250;

export function makeQueues(scope: Construct): { readonly queue: Queue; readonly deadLetters: Queue } {
  const deadLetters = new Queue(scope, "DeadLetters", {
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    retentionPeriod: Duration.days(7), // there may be deliveries of webhooks, with personal data in them
  });
  const queue = new Queue(scope, "Queue", {
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    visibilityTimeout: visibility,
    retentionPeriod: Duration.days(4),
    deadLetterQueue: { queue: deadLetters, maxReceiveCount: mostReceives },
  });
  return { queue, deadLetters };
}
