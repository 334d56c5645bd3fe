/**
 * The world outside, faked: a payment provider and a carrier. Put your own in their place, and hand each its idempotency
 * key: a step that is cut off is carried out again, and who sees the key a second time gives the same answer.
 *
 * With `EFFECTS_URL` they are asked over HTTP, so that somebody can watch.
 */
interface Request {
  readonly idempotencyKey: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Answers an id, the same for the same idempotency key. */
export async function perform(kind: string, { idempotencyKey, details }: Request): Promise<string> {
  const url = typeof process === "undefined" ? undefined : process.env["EFFECTS_URL"]; // a Worker has one with nodejs_compat only
  if (url !== undefined) {
    const headers = { "content-type": "application/json", "idempotency-key": idempotencyKey };
    const response = await fetch(`${url}/${kind}`, { method: "POST", headers, body: JSON.stringify(details) });
    if (!response.ok) throw new Error(`${kind}: ${response.status} ${await response.text()}`);
  }
  return `${kind}_${idempotencyKey.slice(0, 8)}`;
}
