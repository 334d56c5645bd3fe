/** A sender whose webhook starts errands. It never knows what arrived, so it delivers until it is answered, and once more. */
import { LayoverError } from "layover/client";
import { standardWebhooks, start, webhook } from "layover/webhooks";
import * as z from "zod";
import { signed } from "../standard-webhooks.ts";
import { errand, Input } from "./errand.ts";

const secret = `whsec_${Buffer.from("a secret of the sender's own").toString("base64")}`;
const longestWaitMs = 3_000;

/** The outside world knows its runs by their ids before they are started. */
const Event = z.object({ runId: z.string(), id: z.string(), input: z.unknown() });

export const sender = webhook({
  name: "sender",
  verify: standardWebhooks(() => secret),
  event: Event,
  on: ({ event: { runId, id, input } }) => {
    const options = { runId, id };
    return start(errand, Input.parse(input), options);
  },
});

/** Delivers once. @throws LayoverError `unreachable`, if there is no answer that says it is done */
export async function deliver(url: string, id: string, event: z.infer<typeof Event>): Promise<void> {
  const request = signed({ id, body: JSON.stringify(event), secret });
  try {
    const response = await fetch(`${url}/webhooks/sender`, { ...request, signal: AbortSignal.timeout(longestWaitMs) });
    const { outcome } = Object(await response.json());
    if (response.ok && (outcome === "done" || outcome === "duplicate")) return;
    if (response.ok || response.status < 500)
      throw new TypeError(`the delivery was answered ${response.status} ${outcome}`);
  } catch (cause) {
    if (cause instanceof TypeError && cause.message.startsWith("the delivery")) throw cause;
  }
  throw new LayoverError("unreachable", "the delivery was not answered", { hint: "Deliver it again." });
}
