/**
 * Keeps code that is replayed to itself: `fetch`, sockets and timers are refused. Code that asks for them outside of a step
 * would be blocked in production, too, or differ from time to time.
 */
import { Socket } from "node:net";

const { setImmediate: usualImmediate } = globalThis;
let refused: string | undefined;

/** Lets a handler come to rest: microtasks drained and one macrotask, by the timer that the code does not get. */
export const atRest = () => new Promise<void>((resolve) => void usualImmediate(resolve));

/** Is called before the code is loaded. */
export function refuseNetwork(): void {
  globalThis.fetch = refusing("fetch");
  Socket.prototype.connect = refusing("a socket");
}

/** Is called once the code is loaded: modules may set timers while they load. */
export function refuseTimers(): void {
  for (const name of ["setTimeout", "setInterval", "setImmediate"] as const)
    Object.defineProperty(globalThis, name, { value: refusing(name), configurable: true });
}

/** Answers the name of the first thing that the code was refused since the last call. Undefined: it was refused nothing. */
export function takeRefused(): string | undefined {
  const first = refused;
  refused = undefined;
  return first;
}

function refusing(name: string): () => never {
  return () => {
    refused ??= name;
    throw new Error(`${name} is refused in a replay`);
  };
}
