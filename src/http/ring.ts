/**
 * How a deployment rings at another one on the same database, on another host perhaps: `POST …/internal/wake`, answered when the
 * other one has ticked. The two share their root secrets, as they share callbacks and API keys. The message is that of the
 * stand-alone alarm (alarm.ts), signed with a key of its own.
 */
import { LayoverError } from "../core/errors.ts";
import type { WallClock } from "../core/ports.ts";
import { readText } from "./body.ts";
import { type Signing, sign, signatureHeader, verified } from "./signature.ts";

export const wakePath = "/internal/wake";

/** Whoever guesses a header has us compute a MAC over this much. */
const mostBytes = 256;

/** As long as the engine waits for the answer. */
const answerMs = 20_000;

export interface RingTerms extends Pick<Signing, "secrets" | "namespace"> {
  readonly host: Pick<WallClock, "now">;
  /** Sends requests. Default: `fetch`. */
  readonly send?: typeof fetch | undefined;
}

/** Makes what the engine rings by. */
export function ringing({ host, send = fetch, ...signing }: RingTerms) {
  return async (address: string, readyUntil: number): Promise<void> => {
    const body = JSON.stringify({ readyUntil });
    const signature = sign(wakePath, body, { ...signing, nowMs: host.now(), purpose: "wake" });
    const response = await send(`${address}${wakePath}`, {
      method: "POST",
      headers: { "content-type": "application/json", [signatureHeader]: signature },
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(answerMs),
    });
    await response.body?.cancel();
    if (response.status !== 204) throw unanswered(address, response.status);
  };
}

/** Reads what another deployment sends. @throws LayoverError `unauthorized`, `body_too_large` */
export async function readWake(request: Request, signing: Signing): Promise<number> {
  const readBody = () => readText(request, mostBytes);
  const body = await verified(wakePath, { headers: request.headers, readBody }, { ...signing, purpose: "wake" });
  // It carries a MAC by our key, so it is what `ringing` wrote.
  const { readyUntil }: { readonly readyUntil: number } = JSON.parse(body);
  return readyUntil;
}

function unanswered(address: string, status: number): LayoverError {
  const hint =
    status === 401
      ? "Give both deployments the same LAYOVER_SECRET and namespace."
      : "See that it is up, and that its public URL, with the prefix of its paths, leads there.";
  return new LayoverError("unreachable", `the deployment at ${address} has answered ${status}, and not ticked`, {
    hint,
    details: { status },
  });
}
