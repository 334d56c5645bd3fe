/**
 * `step.close`: asks somebody for a signal, which comes at about the time of the closing. Takes the signals of a name until none is there, and refuses those that come later. Whoever waits for the
 * name after that is refused as well, and whoever waits beside it may wait for ever.
 */
import fc from "fast-check";
import { type SignalName, signalNames } from "./contract.ts";
import { crashed } from "./crashed.ts";
import type { Program, Verb } from "./part.ts";
import { eitherOf, exactly, type Match } from "./prospects.ts";
import { like, type Thrown } from "./thrown.ts";
import { lambda } from "./words.ts";

export function draining(name: SignalName): Program {
  return {
    kind: "close",
    parts: [],
    closes: name,
    play: async ({ step, runId, at, world }) => {
      await step.run("ask", ({ idempotencyKey }) => {
        world.onBody(runId, idempotencyKey);
        world.beckon({ runId, name, payload: 1_000 + world.nextTry(`${runId} ${at}`) });
      });
      const drained: unknown[] = [];
      do {
        let payload = await step.waitForSignal(name, { timeout: 0, onTimeout: "null" });
        while (payload !== null) {
          drained.push({ signal: name, payload });
          payload = await step.waitForSignal(name, { timeout: 0, onTimeout: "null" });
        }
      } while (!(await step.close(name)));
      return { drained };
    },
    prospects: ({ facts }) => {
      const sent = facts.signals.filter((each) => each.name === name);
      const taken = eitherOf(sent.map(({ payload }) => exactly({ signal: name, payload })));
      return {
        returns: (found) => isDrained(found, taken),
        throws: eitherOf([refusedAsClosed(name), crashed(facts.beginnings ?? 0)]),
        mayHang: false,
      };
    },
    inWords: () => `await drained("${name}", ${lambda("", `await step.close("${name}")`)})`,
  };
}

/** What a wait throws that comes after the closing of its signal's name. */
export function refusedAsClosed(name: SignalName): Match<Thrown> {
  return like({ name: "LayoverError", code: "invalid_request", says: `the signal "${name}" is closed` });
}

function isDrained(found: unknown, isTaken: Match<unknown> = () => false): boolean {
  const drained: unknown = Reflect.get(Object(found), "drained");
  return Array.isArray(drained) && drained.every((each) => isTaken(each));
}

export const close: Verb = { weight: 2, arbitrary: () => fc.constantFrom(...signalNames).map(draining) };
