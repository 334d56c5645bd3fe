/** Senders that ask first whether somebody is here, each in a way of its own. */
import type { SenderAnswer, SenderRequest, Verifier } from "../verifier.ts";

/**
 * Answers a sender's question, where `answer` knows one, by GET or POST. Every other POST goes to the verifier. This is
 * Asana's, which wants its header back:
 *
 * @example handshake(hmac({ … }), ({ headers }) => {
 *   const secret = headers.get("x-hook-secret");
 *   return secret === null ? undefined : { status: 204, headers: { "x-hook-secret": secret } };
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
