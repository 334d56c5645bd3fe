/**
 * The world outside that functions/workflows/effects.ts asks: a payment provider and a carrier. Like real ones they do
 * what they are asked once for each idempotency key, also if who asked is gone, and take their time to answer.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";

export interface Effect {
  /** What was asked for: `charge`, `refund`, `parcel`. */
  readonly kind: string;
  readonly idempotencyKey: string;
  /** Whether it was done now. False: it was done before, and the answer is the same. */
  readonly isNew: boolean;
  readonly at: number;
  readonly details: Readonly<Record<string, unknown>>;
}

export interface World {
  readonly url: string;
  asked(kind: string): readonly Effect[];
}

const Details = z.record(z.string(), z.unknown());

export async function openWorld(): Promise<World> {
  const effects: Effect[] = [];
  const asked = (kind: string) => effects.filter((effect) => effect.kind === kind);
  const server = createServer(async (request, response) => {
    const kind = request.url?.slice(1) ?? "";
    const idempotencyKey = String(request.headers["idempotency-key"]);
    const details = Details.parse(await json(request));
    const isNew = !asked(kind).some((effect) => effect.idempotencyKey === idempotencyKey);
    effects.push({ kind, idempotencyKey, isNew, at: Date.now(), details });
    await delay(kind === "charge" || kind === "refund" ? 1_200 : 100 + 300 * asked(kind).length);
    response.end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("A TCP server has an address with a port.");
  return { url: `http://127.0.0.1:${address.port}`, asked };
}
