/**
 * A queue of Cloudflare's in the hands of a test: a Worker under test sends to it over HTTP (see workers/neon.ts), and
 * it delivers when the test says so, as often, as late and in which order. A delivery that is cut off comes again as a
 * whole, and what has come too often goes to the dead letters.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { expect, onTestFinished } from "vitest";
import * as z from "zod";
import type { AWorker } from "./a-worker.ts";

interface Letter {
  readonly body: unknown;
  readonly delaySeconds: number;
  attempts: number;
}

const Batch = z.array(z.object({ body: z.unknown(), delaySeconds: z.number().default(0) }));

export class PlayedQueue {
  /** Address of the queue, for the variable QUEUE_URL. */
  readonly url: string;
  waiting: Letter[] = [];
  readonly dead: Letter[] = [];
  /** How many messages were sent. */
  sent = 0;
  /** How many deliveries were made. */
  deliveries = 0;
  mostAttempts = 0;
  isRefusing = false;
  /** How often a message comes again at most. Default: Cloudflare's. */
  maxRetries = 3;

  private constructor(url: string) {
    this.url = url;
  }

  static async open(): Promise<PlayedQueue> {
    const server = createServer((request, response) => {
      void json(request).then((body) => {
        const letters = Batch.parse(body).map((message) => ({ ...message, attempts: 1 }));
        if (!queue.isRefusing) queue.waiting.push(...letters);
        if (!queue.isRefusing) queue.sent += letters.length;
        response.writeHead(queue.isRefusing ? 429 : 204).end();
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("A TCP server has an address with a port.");
    const queue = new PlayedQueue(`http://127.0.0.1:${address.port}`);
    return queue;
  }

  /** Makes one delivery of what waits longest. No time passes here, so delays are left out. */
  async deliver(worker: AWorker, size = 10): Promise<void> {
    const letters = this.waiting.splice(0, size);
    if (letters.length === 0) return;
    this.deliveries += 1;
    this.mostAttempts = Math.max(this.mostAttempts, ...letters.map(({ attempts }) => attempts));
    const again = new Set(letters);
    try {
      const { outcome, acked } = await worker.deliver(letters);
      const done = outcome === "ok" ? acked : [];
      for (const index of done) {
        const letter = letters[index];
        if (letter !== undefined) again.delete(letter);
      }
    } catch {
      // the Worker that carried it out is gone
    }
    for (const letter of again) {
      letter.attempts += 1;
      (letter.attempts > this.maxRetries + 1 ? this.dead : this.waiting).push(letter);
    }
  }

  /** Delivers until nothing waits. Waits for something first: a Worker sends after its answer. */
  async drain(worker: AWorker, size = 10): Promise<void> {
    await expect.poll(() => this.waiting.length).toBeGreaterThan(0);
    while (this.waiting.length > 0) await this.deliver(worker, size);
  }
}
