/** Senders that ask first whether somebody is here, each in a way of its own. */
import type { SenderAnswer, SenderRequest, Verifier } from "../verifier.ts";

/**
 * Answers a sender's question, where `answer` knows one. Everything else goes to the verifier.
 *
 * @example handshake(hmac({ … }), ({ headers }) => {
 *   const validation = headers.get("x-hook-secret");
 *   return validation === null ? undefined : { status: 204 };
 * })
 */
export function handshake<Event, Env>(
  verifier: Verifier<Event, Env>,
  answer: (request: SenderRequest, env: Env) => SenderAnswer | undefined,
): Verifier<Event, Env> {
  return {
    sender: verifier.sender,
    verify(request, env) {
      const answered = answer(request, env);
      return answered === undefined ? verifier.verify(request, env) : { outcome: "answered", answer: answered };
    },
  };
}
