/** Senders that ask first whether somebody is here, each in a way of its own. */
import type { SenderAnswer, SenderRequest, Verifier } from "../verifier.ts";

/**
 * Answers a sender's question, where `answer` knows one, by GET or POST. Every other POST goes to the verifier.
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
    ...verifier,
    asksByGet: true,
    verify(request, env) {
      const answered = answer(request, env);
      if (answered !== undefined) return { outcome: "answered", answer: answered };
      return request.method === "GET"
        ? { outcome: "refused", reason: "it asks nothing that is known, and a delivery comes by POST" }
        : verifier.verify(request, env);
    },
  };
}
