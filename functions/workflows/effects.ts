/**
 * The world outside, faked: a payment provider and a carrier. Like real ones they do what they are asked once for each
 * idempotency key, and take their time to answer.
 *
 * With `LAYOVER_EFFECTS=FILE` they keep their books in that file, a line of JSON each time somebody asks: so it outlives
 * this process, and what happened can be counted (test/demo does).
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

export interface Effect {
  /** What was done: `charge`, `refund`, `parcel`. */
  readonly kind: string;
  readonly idempotencyKey: string;
  /** Whether it was done now. False: it was done before, and the answer is the same. */
  readonly isNew: boolean;
  readonly at: number;
  readonly [detail: string]: unknown;
}

interface Request {
  readonly idempotencyKey: string;
  readonly answersAfterMs: number;
  readonly details?: Readonly<Record<string, unknown>>;
}

const file = process.env["LAYOVER_EFFECTS"];
const unwritten: Effect[] = [];

/** Answers an id, the same for the same idempotency key. */
export async function perform(kind: string, { idempotencyKey, answersAfterMs, details }: Request): Promise<string> {
  const isNew = !effects().some((effect) => effect.kind === kind && effect.idempotencyKey === idempotencyKey);
  const effect: Effect = { ...details, kind, idempotencyKey, isNew, at: Date.now() };
  if (file === undefined) unwritten.push(effect);
  else appendFileSync(file, `${JSON.stringify(effect)}\n`);
  await delay(answersAfterMs);
  return `${kind}_${idempotencyKey.slice(0, 8)}`;
}

function effects(): readonly Effect[] {
  if (file === undefined) return unwritten;
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line): Effect => JSON.parse(line));
}
