/** Leases are renewed at half-time, again and again; who lost one is told, and nobody else. */

import { describe, expect, test } from "vitest";
import { type Query, QueryError } from "../../src/core/ports.ts";
import { Gate } from "../../src/engine/claim/gate.ts";
import type { Lease } from "../../src/engine/claim/lease.ts";
import { Leases } from "../../src/engine/claim/leases.ts";
import { makeCalls } from "../../src/postgres/calls.ts";
import { newestMigration } from "../../src/postgres/schema-fit.ts";
import type { RenewTurn } from "../../src/postgres/wire.ts";
import { Timers } from "../../src/testing/timers.ts";

const leaseMs = 60_000;

/** Renewals are answered when the test says so. */
function aHolder() {
  let time = 0;
  const timers = new Timers(() => time);
  const asked: PromiseWithResolvers<readonly string[]>[] = [];
  const sent: string[][] = [];
  const errors: unknown[] = [];
  const answer = async (text: string, [parameter]: readonly unknown[] = []) => {
    if (text.includes("read_clock")) return [{ answer: { now: 0, migration: newestMigration } }];
    const { turns }: { turns: readonly RenewTurn[] } = JSON.parse(String(parameter));
    sent.push(turns.map(({ runId, says }) => (says === undefined ? runId : `${runId} says ${says}`)));
    const renewal = Promise.withResolvers<readonly string[]>();
    asked.push(renewal);
    return [{ answer: { now: time, turns: (await renewal.promise).map((outcome) => ({ outcome })) } }];
  };
  const query: Query = Object.assign(answer, { endpoint: "here" });
  const calls = makeCalls({ query, namespace: "default", alarm: async () => {}, host: timers });
  const gate = new Gate();
  const onError = (error: unknown) => void errors.push(error);
  const lost: Lease[] = [];
  const onLost = (lease: Lease) => void lost.push(lease);
  const leases = new Leases({ calls, host: timers, leaseMs, gate, random: () => 0, onError, onLost });
  const rest = () => new Promise((resolve) => setImmediate(resolve));
  return {
    leases,
    gate,
    errors,
    lost,
    asked,
    /** The turns that each renewal named. */
    sent,
    async pass(ms: number) {
      time += ms;
      timers.fire();
      await rest();
    },
    async tell(...outcomes: readonly string[]) {
      asked.at(-1)?.resolve(outcomes);
      await rest();
    },
    /** The one that was asked first gets no answer. */
    async fail() {
      asked[0]?.reject(new QueryError("permission denied", { sqlState: "42501", isRolledBack: true }));
      await rest();
    },
  };
}

describe("a lease", () => {
  test("stands without a question for half its time, and is renewed after that: then it may be somebody else's", async () => {
    const { leases, asked, pass, tell } = aHolder();
    const lease = leases.hold({ runId: "r", token: "t" }, 1);
    expect(await leases.stands(lease, 1 - leaseMs / 2)).toBe(true);
    expect(asked).toEqual([]);
    for (const [outcome, stands] of [
      ["renewed", true],
      ["superseded", false],
    ] as const) {
      const answer = leases.stands(lease, -leaseMs / 2);
      await pass(0);
      await tell(outcome);
      expect(await answer).toBe(stands);
    }
    leases.release(lease);
  });

  test("is renewed at half-time, and at each half-time after that, until it is released", async () => {
    const { leases, asked, pass, tell } = aHolder();
    const lease = leases.hold({ runId: "r", token: "t" }, 1);
    await pass(leaseMs / 2 - 1);
    expect(asked).toHaveLength(0);
    await pass(1);
    await tell("renewed");
    await pass(leaseMs / 2);
    await tell("renewed");
    expect(asked).toHaveLength(2);
    leases.release(lease);
    await pass(leaseMs);
    expect(asked).toHaveLength(2);
    expect(lease.isLost).toBe(false);
  });

  test("that is superseded is lost, and its holder told", async () => {
    const { leases, lost, pass, tell } = aHolder();
    const lease = leases.hold({ runId: "r", token: "t" }, 1);
    let told = 0;
    lease.whenLost(() => {
      told += 1;
    });
    await pass(leaseMs / 2);
    await tell("superseded");
    expect(lease.isLost).toBe(true);
    expect(told).toBe(1);
    expect(lost).toEqual([lease]);
  });

  test("that is superseded once its finish was sent is not told of: the finish may have been taken", async () => {
    const { leases, lost, pass, tell } = aHolder();
    const lease = leases.hold({ runId: "r", token: "t" }, 1);
    lease.noteFinishSent();
    await pass(leaseMs / 2);
    await tell("superseded");
    expect(lease.isLost).toBe(true);
    expect(lost).toEqual([]);
  });

  test("that went on under a token of its own is not lost when the old one is superseded", async () => {
    const { leases, pass, tell } = aHolder();
    const lease = leases.hold({ runId: "r", token: "t" }, 1);
    await pass(leaseMs / 2);
    lease.goOn({ runId: "r", token: "next" }, 2);
    await tell("superseded");
    expect(lease.isLost).toBe(false);
  });

  test("whose renewal fails is not lost: it is renewed a second later, and only the first failure is told", async () => {
    const { leases, asked, errors, pass, tell } = aHolder();
    const lease = leases.hold({ runId: "r", token: "t" }, 1);
    await pass(leaseMs / 2);
    asked[0]?.reject(new Error("broken"));
    await pass(0);
    await pass(1_000);
    asked[1]?.reject(new Error("broken"));
    await pass(0);
    await pass(1_000);
    await tell("renewed");
    expect(errors).toHaveLength(1);
    expect(asked).toHaveLength(3);
    await pass(leaseMs / 2 - 1);
    expect(asked).toHaveLength(3);
    await pass(1);
    expect(asked).toHaveLength(4);
    expect(lease.isLost).toBe(false);
  });

  test("that somebody has locked is late: it alone is renewed again, a second or two later, and nothing is told", async () => {
    const { leases, asked, sent, errors, gate, pass, tell } = aHolder();
    const late = leases.hold({ runId: "r", token: "t" }, 1);
    late.noteRun({ workflow: { contract: { name: "w", version: 1 } }, lastSaying: "0" });
    const lease = leases.hold({ runId: "other", token: "t" }, 1);
    await pass(leaseMs / 2);
    await tell("locked", "renewed");
    expect([late.isLate, lease.isLate]).toEqual([true, false]);
    expect(gate.isOpen).toBe(true);
    await pass(999);
    expect(asked).toHaveLength(1);
    await pass(1);
    await tell("locked");
    await pass(1_000);
    await tell("renewed");
    expect(late.isLate).toBe(false);
    await pass(5_000);
    expect(sent).toEqual([["r says 0", "other"], ["r"], ["r"]]);
    expect(errors).toEqual([]);
    leases.release(late);
    leases.release(lease);
  });

  test.each(["is lost", "goes on", "is released"])("that is late is late no longer when it %s", async (end) => {
    const { leases, asked, pass, tell } = aHolder();
    const lease = leases.hold({ runId: "r", token: "t" }, 1);
    await pass(leaseMs / 2);
    await tell("locked");
    if (end === "is lost") lease.lose();
    else if (end === "goes on") lease.goOn({ runId: "r", token: "next" }, 2);
    else leases.release(lease);
    await pass(2_000);
    expect(asked).toHaveLength(1);
    if (end !== "is released") expect(lease.isLate).toBe(false);
  });

  test("is of one turn of a run or a branch, and of the next one once it goes on", () => {
    const { leases } = aHolder();
    const lease = leases.hold({ runId: "r", token: "t" }, 1);
    const ofBranch = leases.hold({ runId: "r", token: "t", path: "a", occurrence: 0 }, 1);
    const turns = [
      { runId: "r", turn: 1 },
      { runId: "r", turn: 2 },
      { runId: "other", turn: 1 },
      { runId: "r", turn: 1, branch: { path: "a", occurrence: 0 } },
      { runId: "r", turn: 1, branch: { path: "a", occurrence: 1 } },
      { runId: "r", turn: 1, branch: { path: "b", occurrence: 0 } },
    ];
    const those = (one: Lease) => turns.filter((turn) => one.isOf(turn));
    expect(those(lease)).toEqual([turns[0]]);
    expect(those(ofBranch)).toEqual([turns[3]]);
    lease.goOn({ runId: "r", token: "next" }, 2);
    expect(those(lease)).toEqual([turns[1]]);
    leases.release(lease);
    leases.release(ofBranch);
  });

  test.each(["is renewed", "is released"])(
    "whose renewal fails lets its process claim nothing until it %s",
    async (end) => {
      const { leases, gate, asked, pass, tell } = aHolder();
      const lease = leases.hold({ runId: "r", token: "t" }, 1);
      await pass(leaseMs / 2);
      expect(gate.isOpen).toBe(true);
      asked[0]?.reject(new Error("broken"));
      await pass(0);
      expect(gate.isOpen).toBe(false);
      if (end === "is released") leases.release(lease);
      else {
        await pass(1_000);
        await tell("renewed");
      }
      expect(gate.isOpen).toBe(true);
    },
  );
});

describe("what goes alone", () => {
  test.each([
    ["renewed", true],
    ["superseded", false],
    ["what nobody knows", false],
  ])("is told that it is %s when it begins: does it? %s", async (outcome, does) => {
    const { leases, pass, tell } = aHolder();
    const begun = leases.begin(leases.hold({ runId: "r", token: "t" }, 1), 1);
    await pass(0);
    await tell(outcome);
    expect(await begun).toBe(does);
  });

  test.each([
    ["renewed", true],
    ["superseded", false],
  ])("begins without an answer, unless its lease was lost meanwhile: it was %s", async (outcome, does) => {
    const { leases, errors, pass, tell, fail } = aHolder();
    const begun = leases.begin(leases.hold({ runId: "r", token: "t" }, 1), 1);
    await pass(0);
    await pass(leaseMs / 2);
    await tell(outcome);
    await fail();
    expect(await begun).toBe(does);
    expect(errors).toHaveLength(1);
  });
});
