/** A body that comes as slowly as the test has it come, and time that is turned by hand. */
import { Timers } from "../../src/testing/timers.ts";

export interface SlowBody {
  readonly body: ReadableStream<Uint8Array>;
  /** Sends so many spaces, which JSON passes over, and then this text. */
  send(bytes: number, text?: string): void;
  end(): void;
  /** Whether the server has given it up. */
  isCancelled(): boolean;
}

export function aSlowBody(): SlowBody {
  let isCancelled = false;
  let sender: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      sender = controller;
    },
    cancel: () => {
      isCancelled = true;
    },
  });
  return {
    body,
    send: (bytes, text = "") => sender?.enqueue(new TextEncoder().encode(" ".repeat(bytes) + text)),
    end: () => sender?.close(),
    isCancelled: () => isCancelled,
  };
}

/** The clock of a host, and what has it go on. */
export function aTurnedHost() {
  let time = 0;
  const host = new Timers(() => time);
  const pass = (ms: number) => {
    time += ms;
    while (host.fire());
  };
  return { host, pass };
}

/** Sends such a body. */
export function slowly({ body }: SlowBody, headers: Record<string, string> = {}): RequestInit {
  const init = { method: "POST", body, duplex: "half", headers: { "content-type": "application/json", ...headers } };
  return init;
}
