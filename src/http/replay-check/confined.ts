/**
 * Keeps code that is replayed to itself, in a process that has other work at the same time: `fetch`, sockets and timers are
 * refused to that code alone. It is told by its asynchronous context, so what it does after the verdict is refused, too.
 */
import type { AsyncLocalStorage } from "node:async_hooks";
import { LayoverError } from "../../core/errors.ts";

/** What the code of one replay was refused. */
interface Confinement {
  refused: string | undefined;
}

type Storage = AsyncLocalStorage<Confinement | undefined>;

const globals = ["fetch", "WebSocket", "EventSource", "setTimeout", "setInterval", "setImmediate"] as const;
let storage: Promise<Storage> | undefined;

export interface Confined<Result> {
  readonly result: Result;
  /** The first thing that the code was refused. Undefined: it was refused nothing. */
  readonly refused: string | undefined;
}

/**
 * Does `work`, which replays code. `atRest` resolves after the microtasks.
 *
 * @throws LayoverError `not_applicable` on a host that cannot tell that code from other code
 */
export async function confined<Result>(
  work: (atRest: () => Promise<void>) => Promise<Result>,
): Promise<Confined<Result>> {
  storage ??= prepared();
  const contexts = await storage;
  const confinement: Confinement = { refused: undefined };
  const atRest = () => contexts.run(undefined, macrotask);
  const result = await contexts.run(confinement, () => work(atRest));
  return { result, refused: confinement.refused };
}

/** Replaces once, for as long as the process lives, what reaches out. All other code passes. */
async function prepared(): Promise<Storage> {
  const contexts = await newStorage();
  for (const name of globals) guard(contexts, globalThis, name, name);
  // A Worker without nodejs_compat has no such module, and no such socket.
  const net = await import("node:net").catch(() => undefined);
  if (net !== undefined)
    for (const name of ["connect", "write"]) guard(contexts, net.Socket.prototype, name, "a socket");
  return contexts;
}

async function newStorage(): Promise<Storage> {
  try {
    const { AsyncLocalStorage } = await import("node:async_hooks");
    return new AsyncLocalStorage();
  } catch (cause) {
    throw new LayoverError("not_applicable", "this host cannot keep the code that is replayed from the network", {
      hint: "Give the Worker the compatibility flag nodejs_als, or nodejs_compat.",
      cause,
    });
  }
}

/** `shown`: what the verdict calls it. */
function guard(contexts: Storage, owner: object, name: string, shown: string): void {
  const usual: unknown = Reflect.get(owner, name);
  if (typeof usual !== "function") return;
  const refuse = () => {
    const confinement = contexts.getStore();
    if (confinement === undefined) return;
    confinement.refused ??= shown;
    throw new Error(`${shown} is refused in a replay`);
  };
  const value = new Proxy(usual, {
    apply: (target, self, args) => {
      refuse();
      return Reflect.apply(target, self, args);
    },
    construct: (target, args, made) => {
      refuse();
      return Reflect.construct(target, args, made);
    },
  });
  Object.defineProperty(owner, name, { value, configurable: true, writable: true });
}

/** A timer of 0 ms comes after all microtasks, too. Node makes a millisecond of it. */
function macrotask(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === "function") setImmediate(resolve);
    else setTimeout(resolve, 0);
  });
}
