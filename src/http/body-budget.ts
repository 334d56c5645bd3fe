/**
 * Limits how many bytes of bodies are in memory at once, and how long one may take to come. While a request is answered,
 * its body is there several times: as bytes, as text and as the value. Without the limit, 200 requests of 1 MiB each took
 * 600 MB, and a small process ended. Bytes count as they come, whatever length the sender has announced. So a sender that is
 * slow keeps no room from others.
 */
import { LayoverError } from "../core/errors.ts";
import type { HostClock } from "../core/ports.ts";
import { hostClock } from "../postgres/host-clock.ts";
import type { Room } from "./room.ts";

/** How the body of one request is read. */
export interface Intake {
  readonly host: HostClock;
  /** How long it may take. */
  readonly ms: number;
  /** Notes how many bytes are there by now. @throws LayoverError `busy` */
  note(size: number): void;
}

/** How long a body may take whose sender has no key. A webhook's sender is verified by the whole body. */
const strangerMs = 10_000;

/** The same where the caller has an API key. */
const knownMs = 60_000;

const intakes = new WeakMap<Request, Intake>();

/** Answers the request, and holds the room for its body until the answer is there. `isKnown`: its caller has an API key. */
export async function holdingBody<Result>(
  request: Request,
  { bodies, isKnown }: { readonly bodies: Room; readonly isKnown: boolean },
  answer: () => Promise<Result>,
): Promise<Result> {
  const body = {};
  const ms = isKnown ? knownMs : strangerMs;
  const note = (size: number) => {
    if (!bodies.take(body, size, ms)) throw busy(bodies.most);
  };
  intakes.set(request, { host: bodies.host, ms, note });
  try {
    return await answer();
  } finally {
    bodies.leave(body);
  }
}

/** How to read this body. What a deployment sends to itself is small, and takes no room. */
export function intakeOf(request: Request): Intake {
  return intakes.get(request) ?? { host: hostClock, ms: strangerMs, note: () => {} };
}

function busy(limit: number): LayoverError {
  return new LayoverError("busy", `this server has no room for another body: it holds ${limit} bytes of them at most`, {
    hint: "Send the request again in some seconds. With the same ids nothing happens twice.",
    details: { limit },
  });
}
