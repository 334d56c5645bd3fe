/**
 * Signs what a deployment sends to itself over HTTP: a MAC over when, where and what. Verified before any SQL, so that a
 * stranger cannot keep the database awake.
 *
 *     layover-signature: t=1767268800,v1=<MAC>
 *
 * Within the window, whoever saw a request may send it again. So nothing may depend on how often such a request comes.
 */
import { LayoverError } from "../core/errors.ts";
import type { Purpose, Signer } from "./secrets.ts";

export const signatureHeader = "layover-signature";

/** An HMAC-SHA256 in base64url. */
const headerForm = /^t=(\d{1,12}),v1=([\w-]{43})$/;

/** How far the clocks of who signs and who verifies may be apart, on the way included. */
const windowSeconds = 300;

export interface Signing {
  readonly secrets: Signer;
  /** What the signature counts for: a namespace, or an app of an alarm. */
  readonly namespace: string;
  /** The time by the host's clock, in epoch milliseconds. Default: now. */
  readonly nowMs?: number | undefined;
  /** The purpose of the key that signs. Default: "internal". */
  readonly purpose?: Purpose;
}

/** Makes the value of the header. `path` has no prefix, since a proxy or a router may remove or add one. */
export function sign(
  path: string,
  body: string,
  { secrets, namespace, nowMs = Date.now(), purpose = "internal" }: Signing,
): string {
  const seconds = Math.floor(nowMs / 1_000);
  return `t=${seconds},v1=${secrets.sign(purpose, signedText(path, body, namespace, seconds))}`;
}

/**
 * `readBody` is called where the header could be a signature of now: of this time, and as long as one.
 *
 * @throws LayoverError `unauthorized`, and whatever `readBody` throws
 */
export async function verified(
  path: string,
  { headers, readBody }: { readonly headers: Headers; readonly readBody: () => Promise<string> },
  { secrets, namespace, nowMs = Date.now(), purpose = "internal" }: Signing,
): Promise<string> {
  const [, time = "", mac = ""] = headerForm.exec(headers.get(signatureHeader) ?? "") ?? [];
  if (mac === "") throw unauthorized("this request needs a signature");
  const seconds = Number(time);
  if (Math.abs(nowMs / 1_000 - seconds) > windowSeconds) throw unauthorized("the signature is not of now");
  const body = await readBody();
  if (secrets.verify(purpose, signedText(path, body, namespace, seconds), mac)) return body;
  throw unauthorized("the signature does not count here");
}

/** Neither a path nor a namespace has a line break in it. */
function signedText(path: string, body: string, namespace: string, seconds: number): string {
  return `${namespace}\n${seconds}\n${path}\n${body}`;
}

function unauthorized(message: string): LayoverError {
  return new LayoverError("unauthorized", message, {
    hint: "Only the deployment itself, others on its database and its alarm call this route. They sign with keys of the deployment's root secret.",
  });
}
