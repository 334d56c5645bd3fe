/** The queues that a Worker consumes, as wrangler.toml has them. */
import { readFileSync } from "node:fs";

export interface Consumer {
  readonly queue: string;
  /** How many messages a delivery has at most. */
  readonly batchSize: number;
  /** How often a message comes again at most. */
  readonly maxRetries: number;
}

const settings = readFileSync(new URL("../../wrangler.toml", import.meta.url), "utf8");
const [, turns = "", dead = ""] = settings.split("[[queues.consumers]]");

export const consumers = { turns: consumerIn(turns), dead: consumerIn(dead) };

function consumerIn(section: string): Consumer {
  const [, queue = ""] = /^queue = "(.*)"/m.exec(section) ?? [];
  const [, batchSize = "10"] = /^max_batch_size = (\d+)/m.exec(section) ?? []; // Cloudflare's default
  const [, maxRetries = ""] = /^max_retries = (\d+)/m.exec(section) ?? [];
  return { queue, batchSize: Number(batchSize), maxRetries: Number(maxRetries) };
}
