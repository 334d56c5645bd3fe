/** The queue as webhooks see it that answer before: what it takes comes back until it is carried out. */
import { within } from "../../core/waits.ts";
import type { LaterQueue } from "../../http/webhooks/webhook.ts";
import type { ForwardedEvent } from "./messages.ts";
import type { ServedFunctions } from "./served-functions.ts";

/** Below what a message of SQS and an event of Lambda may have. */
const mostBytes = 200_000;

/** How long the queue may take. Slack waits for three seconds in all. */
const sendMs = 1_500;

export function laterQueue({ runtime: { services, host }, nameOf }: ServedFunctions): LaterQueue {
  return {
    mostBytes,
    send: async (sealed) => {
      const event: ForwardedEvent = { to: "turns", event: { sealed }, since: host.now() };
      const message = { body: JSON.stringify(event), delaySeconds: 0 };
      const refused = await within(host, sendMs, services.send(nameOf("queueUrl"), [message]), noAnswer);
      if (refused.length > 0) throw new Error("the queue refused a message");
    },
  };
}

function noAnswer(): Error {
  return new Error("the queue did not answer in time");
}
