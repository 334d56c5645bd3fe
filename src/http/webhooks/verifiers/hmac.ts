/** A sender that puts an HMAC of the body into a header. Most senders that have no library of their own do. */
import { sha1 } from "@noble/hashes/legacy.js";
import { sha256, sha512 } from "@noble/hashes/sha2.js";
import type { SecretOf, Variables, Verifier } from "../verifier.ts";
import { type Encoding, header, isSigned, jsonOf, keysOf, refused } from "./signature.ts";

const hashes = { sha1, sha256, sha512 } as const;

export interface HmacOptions<Env> {
  readonly secret: SecretOf<Env>;
  /** The header with the signature. */
  readonly header: string;
  /** Default: "sha256". */
  readonly algorithm?: keyof typeof hashes | undefined;
  /** Default: "hex". */
  readonly encoding?: Encoding | undefined;
  /** What stands before the signature: `sha256=`. Default: nothing. */
  readonly prefix?: string | undefined;
  /**
   * The header with the delivery's id. It is not signed, so the same body within 96 hours is the same delivery as well (see
   * `sameBody` of the webhook). Default: none. Then the same body within ten minutes is.
   */
  readonly delivery?: string | undefined;
}

/**
 * Verifies an HMAC of the body. Nothing signs the time, so an old request may come again: its body tells that.
 *
 * @example hmac({ header: "x-shop-signature", secret: (env) => env.SHOP_SECRET, encoding: "base64" })
 */
export function hmac<Env = Variables>(options: HmacOptions<Env>): Verifier<unknown, Env> {
  const { algorithm = "sha256", encoding = "hex", prefix = "" } = options;
  return {
    sender: `the sender of ${options.header}`,
    hasNoIds: options.delivery === undefined,
    secretHeaders: [options.header.toLowerCase()],
    verify(request, env) {
      const given = header(request, options.header);
      if (given === undefined) return refused(`it has no header ${options.header}`);
      if (!given.startsWith(prefix)) return refused(`its header ${options.header} does not begin with ${prefix}`);
      const keys = keysOf(options.secret, env);
      if (keys.length === 0) return refused("the secret is not set");
      const signature = given.slice(prefix.length);
      const signatures = [encoding === "hex" ? signature.toLowerCase() : signature];
      if (!isSigned({ keys, hash: hashes[algorithm], encoding, text: request.body, signatures }))
        return refused("its signature is not of this secret and this body");
      const event = jsonOf(request.body);
      if ("outcome" in event) return event;
      const delivery = options.delivery === undefined ? undefined : header(request, options.delivery);
      return { outcome: "verified", event: event.value, delivery, isIdSigned: false };
    },
  };
}
