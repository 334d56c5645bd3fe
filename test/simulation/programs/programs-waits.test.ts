/** The right answers of waits: told from wrong ones, without any engine. */
import { describe, expect, test } from "vitest";
import { allOf } from "./all.ts";
import { answered, type CallbackSpec } from "./callback.ts";
import { draining } from "./close.ts";
import { awaiting } from "./foreign.ts";
import { leftBehind } from "./left.ts";
import { plainly } from "./plain.ts";
import { mayWait } from "./program.ts";
import { raceOf } from "./race.ts";
import { sequenceOf } from "./sequence.ts";
import { signalled } from "./signal.ts";
import { a, broken, quiet, returns, throws } from "./told-right.ts";

describe("a wait", () => {
  const signals = [
    { name: "red", payload: 1 },
    { name: "blue", payload: 2 },
  ];
  const red = signalled("red");
  const patient = { timeout: 60_000, onTimeout: "null" } as const;

  test("for a signal takes what was sent under its name", () => {
    expect(returns(red, { signal: "red", payload: 1 }, { signals })).toBe(true);
    expect(returns(red, { signal: "red", payload: 2 }, { signals })).toBe(false);
    expect(returns(red, { signal: "blue", payload: 2 }, { signals })).toBe(false);
    expect(returns(red, { signal: "red", payload: 1 })).toBe(false);
  });

  test("for a signal times out only if it has a timeout, and says so as it was asked to", () => {
    const late = { name: "TimeoutError", message: 'the signal "red" did not arrive within 60s' };
    expect(returns(signalled("red", patient), "waited in vain")).toBe(true);
    expect(throws(signalled("red", patient), late)).toBe(false);
    expect(throws(signalled("red", { timeout: 60_000 }), late)).toBe(true);
    expect(returns(signalled("red", { timeout: 60_000 }), "waited in vain")).toBe(false);
    expect(returns(red, "waited in vain")).toBe(false);
    expect(throws(red, late)).toBe(false);
    expect(throws(signalled("blue", { timeout: 60_000 }), late)).toBe(false);
  });

  test("takes no signal that another one took", () => {
    const one = { signal: "red", payload: 1 };
    const two = sequenceOf([signalled("red", patient), signalled("red", patient)]);
    expect(returns(two, [one, "waited in vain"], { signals })).toBe(true);
    expect(returns(two, [one, one], { signals })).toBe(false);
    expect(returns(two, [one, one], { signals: [...signals, { name: "red", payload: 1 }] })).toBe(true);
  });

  test("that drains a name returns signals of that name, and nobody waits for one after it", () => {
    const one = { signal: "red", payload: 1 };
    expect(returns(draining("red"), { drained: [] }, { signals })).toBe(true);
    expect(returns(draining("red"), { drained: [one] }, { signals })).toBe(true);
    expect(returns(draining("red"), { drained: [one, one] }, { signals })).toBe(false);
    expect(returns(draining("red"), { drained: [one] })).toBe(false);
    expect(returns(draining("red"), { drained: [{ signal: "blue", payload: 2 }] }, { signals })).toBe(false);
    const closed = { name: "LayoverError", message: 'the signal "red" is closed', code: "invalid_request" };
    expect(throws(sequenceOf([draining("red"), red]), closed)).toBe(true);
    expect(throws(sequenceOf([draining("blue"), red]), closed)).toBe(false);
    expect(mayWait(allOf([draining("red"), red]), { ...quiet, signals })).toBe(true);
    expect(mayWait(allOf([draining("blue"), red]), { ...quiet, signals })).toBe(false);
  });

  test("for something that is no step returns it in the end", () => {
    expect(returns(awaiting(4), "came at last")).toBe(true);
    expect(returns(awaiting(4), undefined)).toBe(false);
    expect(mayWait(awaiting(4), quiet)).toBe(false);
  });

  test("that stands at the end is one for a signal that was not sent", () => {
    expect(mayWait(red, quiet)).toBe(true);
    expect(mayWait(red, { ...quiet, signals })).toBe(false);
    expect(mayWait(signalled("red", patient), quiet)).toBe(false);
    expect(mayWait(sequenceOf([red, a, red]), { ...quiet, signals })).toBe(true);
    expect(mayWait(raceOf([red, a]), quiet)).toBe(false);
    expect(mayWait(allOf([red, a]), quiet)).toBe(true);
    expect(mayWait(allOf([red, broken]), quiet)).toBe(false);
    expect(mayWait(plainly("any", [red, a]), quiet)).toBe(false);
    expect(mayWait(plainly("any", [red, broken]), quiet)).toBe(true);
    expect(mayWait(sequenceOf([broken, red]), quiet)).toBe(false);
    expect(mayWait(sequenceOf([leftBehind(red), a]), quiet)).toBe(false);
  });

  describe("for a callback", () => {
    const plan: CallbackSpec = { answer: "resolve", afterMs: 0, twice: false, isOwn: false };
    const timed = answered({ ...plan, ...patient });
    const approval = { approval: "approval@" };
    const reply = (isAccepted: boolean) => ({ answered: [{ value: "approval@", isAccepted }] });

    test("returns its answer and no other", () => {
      expect(returns(answered(plan), approval)).toBe(true);
      expect(returns(answered(plan), { approval: "approval@1" })).toBe(false);
      expect(returns(answered(plan), { approval: "not approval@" })).toBe(false);
      expect(returns(answered(plan), "waited in vain")).toBe(false);
    });

    test("throws its rejection", () => {
      const no = { name: "CallbackRejectedError", message: 'the callback "approval" was rejected: approval@' };
      expect(throws(answered({ ...plan, answer: "reject" }), no)).toBe(true);
      expect(returns(answered({ ...plan, answer: "reject" }), approval)).toBe(false);
      expect(throws(answered(plan), no)).toBe(false);
    });

    test("never gives up on an answer that was accepted, nor takes one that was refused", () => {
      expect(returns(timed, approval, reply(true))).toBe(true);
      expect(returns(timed, "waited in vain", reply(true))).toBe(false);
      expect(returns(timed, "waited in vain", reply(false))).toBe(true);
      expect(returns(timed, approval, reply(false))).toBe(false);
      expect(returns(timed, approval)).toBe(true);
      expect(returns(timed, "waited in vain")).toBe(true);
    });

    test("that nobody answers gives up", () => {
      const silent = answered({ ...plan, ...patient, answer: "never" });
      expect(returns(silent, "waited in vain")).toBe(true);
      expect(returns(silent, approval)).toBe(false);
      expect(mayWait(silent, quiet)).toBe(false);
    });
  });
});
