/**
 * How a deployment asks itself to carry out turns, where its platform has no private way to: `POST …/internal/turns`,
 * answered when they are carried out.
 */
import type { TurnRef } from "../core/ports.ts";
import { readText } from "./body.ts";
import { type Signing, sign, signatureHeader, verified } from "./signature.ts";

export const turnsPath = "/internal/turns";

export interface TurnsMessage {
  readonly turns: readonly TurnRef[];
  /** How many of these requests led to this one, itself included. Platforms stop chains that are too long. */
  readonly hops: number;
  /**
   * The instant, in epoch milliseconds of the host's clock, after which no further step is begun and nothing is
   * dispatched. The platform may end the first request of the chain soon after it, and with it all that it waits for.
   */
  readonly until: number;
}

/**
 * A turn is some 72 bytes, one of a branch some 110 and its path: `ship[123]/send` has 14. So a burst of 200 (see
 * platform/cloudflare/self-dispatch.ts) has room for paths of 210 bytes. A name alone may have 200 characters, though, and a path
 * has several: so whoever sends turns measures them.
 *
 * Whoever guesses a header has us compute a MAC over this much, for each secret.
 */
const mostBytes = 64 * 1024;

/** The most bytes of `turns` as JSON in UTF-8. The rest of a message takes some 50 bytes. */
export const mostTurnsBytes = mostBytes - 1_024;

export function turnsRequest(message: TurnsMessage, signing: Signing): RequestInit {
  const body = JSON.stringify(message);
  return {
    method: "POST",
    headers: { "content-type": "application/json", [signatureHeader]: sign(turnsPath, body, signing) },
    body,
  };
}

/** @throws LayoverError `unauthorized`, `body_too_large`, `invalid_request` */
export async function readTurns(request: Request, signing: Signing): Promise<TurnsMessage> {
  const readBody = () => readText(request, mostBytes);
  // It carries our MAC, so it is what turnsRequest wrote.
  return JSON.parse(await verified(turnsPath, { headers: request.headers, readBody }, signing)) as TurnsMessage;
}
