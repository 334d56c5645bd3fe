/** `step.waitForSignal`, with and without a timeout. What it takes says that it is a signal: nobody else may have it. */
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { refusedAsClosed } from "./close.ts";
import { type SignalName, signalNames } from "./contract.ts";
import type { Facts, Program, Verb } from "./part.ts";
import { eitherOf, exactly } from "./prospects.ts";
import { like } from "./thrown.ts";
import { options } from "./words.ts";

export interface WaitSpec {
  readonly timeout?: number;
  readonly onTimeout?: "throw" | "null";
}

export const inVain = "waited in vain";

export function signalled(name: SignalName, { timeout, onTimeout = "throw" }: WaitSpec = {}): Program {
  return {
    kind: "signal",
    parts: [],
    takes: name,
    play: async ({ step }) => {
      if (timeout === undefined) return { signal: name, payload: await step.waitForSignal(name) };
      if (onTimeout === "throw") return { signal: name, payload: await step.waitForSignal(name, { timeout }) };
      const before = step.now().getTime();
      const payload = await step.waitForSignal(name, { timeout, onTimeout });
      if (payload !== null) return { signal: name, payload };
      return step.now().getTime() - before >= timeout ? inVain : "gave up too early";
    },
    prospects: ({ facts, takers, isClosed }) => {
      const sent = facts.signals.filter((each) => each.name === name);
      const taken = sent.map(({ payload }) => exactly({ signal: name, payload }));
      const isNull = timeout !== undefined && onTimeout === "null";
      const isThrown = timeout !== undefined && onTimeout === "throw";
      return {
        returns: eitherOf([...taken, isNull ? exactly(inVain) : undefined]),
        throws: eitherOf([
          isThrown ? like({ name: "TimeoutError", says: `the signal "${name}"` }) : undefined,
          isClosed(name) ? refusedAsClosed(name) : undefined,
        ]),
        mayHang: timeout === undefined && (sent.length < takers(name) || isClosed(name)),
      };
    },
    inWords: () => `await step.waitForSignal("${name}"${options({ timeout, onTimeout: timeout && onTimeout })})`,
  };
}

/** Whether each signal that is found in a result was sent, and no more often. */
export function isTakenOnce(value: unknown, { signals }: Facts): boolean {
  const left = signals.map(({ name, payload }) => ({ signal: name, payload }));
  return signalsIn(value).every((taken) => {
    const index = left.findIndex((each) => isDeepStrictEqual(each, taken));
    if (index >= 0) left.splice(index, 1);
    return index >= 0;
  });
}

function signalsIn(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return "signal" in value ? [value] : Object.values(value).flatMap(signalsIn);
}

const names = fc.constantFrom(...signalNames);
const timed = fc.record({
  timeout: fc.constantFrom(0, 30_000, 300_000, 3_600_000),
  onTimeout: fc.constantFrom("null" as const, "throw" as const),
});
const waits = fc.oneof({ weight: 3, arbitrary: timed }, { weight: 1, arbitrary: fc.constant({}) });

export const signal: Verb = {
  weight: 3,
  arbitrary: () => fc.tuple(names, waits).map(([name, wait]) => signalled(name, wait)),
};
