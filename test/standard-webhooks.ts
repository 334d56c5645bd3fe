/** Signs a request as https://www.standardwebhooks.com says, by Node's own crypto. */
import { createHmac } from "node:crypto";

export interface SignedRequest {
  readonly id: string;
  readonly body: string;
  /** `whsec_` and base64. */
  readonly secret: string;
  /** Seconds since 1970. Default: now. */
  readonly seconds?: number;
}

export function signed({ id, body, secret, seconds = Math.floor(Date.now() / 1_000) }: SignedRequest): RequestInit & {
  readonly headers: Readonly<Record<string, string>>;
} {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const mac = createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64");
  return {
    method: "POST",
    body,
    headers: {
      "content-length": String(Buffer.byteLength(body)),
      "webhook-id": id,
      "webhook-timestamp": String(seconds),
      "webhook-signature": `v1,${mac}`,
    },
  };
}
