/** The queue of a Worker under test, which a test plays: see ../played-queue.ts. */
import type { QueueProducer } from "layover/cloudflare";

/** Each batch is sent to the test, which takes it or not. */
export function playedQueue(url: string): QueueProducer {
  return {
    async sendBatch(messages) {
      const { ok, status } = await fetch(url, { method: "POST", body: JSON.stringify([...messages]) });
      if (!ok) throw new Error(`the queue refuses messages: ${status}`);
    },
  };
}
