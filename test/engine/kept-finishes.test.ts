/** When what the database refused is sent again, and when it is given up. */
import { describe, expect, test } from "vitest";
import { type Query, QueryError } from "../../src/core/ports.ts";
import { Gate } from "../../src/engine/claim/gate.ts";
import { Finishes } from "../../src/engine/finish/finishes.ts";
import { KeptFinishes } from "../../src/engine/finish/kept-finishes.ts";
import type { Refusal } from "../../src/engine/finish/refusal.ts";
import { makeCalls } from "../../src/postgres/calls.ts";
import { newestMigration } from "../../src/postgres/schema-fit.ts";
import type { FinishRun } from "../../src/postgres/wire.ts";
import { Timers } from "../../src/testing/timers.ts";

const megabyte = 1024 * 1024;
const unanswered: Refusal = {
  error: new Error("no connection"),
  isOfValue: false,
  isOfDatabase: true,
  isLocked: false,
  isAnswered: false,
  reason: "no connection",
};
const full: Refusal = { ...unanswered, error: new Error("disk full"), isAnswered: true, reason: "disk full (53100)" };
const locked: Refusal = { ...full, isOfDatabase: false, isLocked: true, reason: "lock timeout (55P03)" };
const ofOne: Refusal = { ...full, isOfDatabase: false, reason: "refused (XX001)" };

function aProcess() {
  let time = 0;
  const timers = new Timers(() => time);
  const gate = new Gate();
  const kept = new KeptFinishes({ gate, host: timers, random: () => 0.999 });
  const rest = () => new Promise((resolve) => setImmediate(resolve));
  return {
    timers,
    gate,
    kept,
    /** Keeps one that is refused until the test says otherwise. */
    keep(refusal: Refusal, { endsAt = Number.POSITIVE_INFINITY, bytes = 1 } = {}) {
      const finish = { sentAt: [] as number[], givenUp: undefined as unknown, refusal: refusal as Refusal | undefined };
      const send = async () => {
        finish.sentAt.push(time);
        return finish.refusal;
      };
      const giveUp = ({ error }: Refusal) => {
        finish.givenUp = error;
      };
      kept.keep({ bytes, endsAt, send, giveUp }, refusal);
      return finish;
    },
    async pass(ms: number) {
      await rest();
      for (const until = time + ms; time < until; ) {
        time = Math.min(timers.next ?? until, until);
        timers.fire();
        await rest();
      }
    },
  };
}

const gaps = (times: readonly number[]) => times.map((at, index) => Math.round((at - (times[index - 1] ?? 0)) / 1_000));

describe("a finish that was refused is sent again", () => {
  test("after pauses up to 5 s, where the database does not answer", async () => {
    const { keep, pass } = aProcess();
    const finish = keep(unanswered);
    await pass(30_000);
    expect(gaps(finish.sentAt)).toEqual([2, 3, 5, 5, 5, 5, 5]);
  });

  test("after pauses up to 30 s, where it has answered", async () => {
    const { keep, pass } = aProcess();
    const finish = keep(full);
    await pass(120_000);
    expect(gaps(finish.sentAt)).toEqual([2, 3, 5, 9, 17, 30, 30]);
  });

  test("after pauses up to 5 s, where somebody has locked its run", async () => {
    const { keep, pass, gate } = aProcess();
    const finish = keep(locked);
    await pass(30_000);
    expect(gaps(finish.sentAt)).toEqual([2, 3, 5, 5, 5, 5, 5]);
    expect(gate.isOpen).toBe(true);
  });

  test("by turns, one in each round, where several runs are locked: each waits at the lock, by a connection", async () => {
    const { keep, pass } = aProcess();
    const ones = Array.from({ length: 3 }, () => keep(locked));
    await pass(30_000);
    expect(ones.map(({ sentAt }) => gaps(sentAt))).toEqual([
      [2, 13, 15],
      [5, 15],
      [10, 15],
    ]);
    for (const finish of ones) finish.refusal = undefined;
    await pass(30_000);
    expect(ones.map(({ sentAt }) => sentAt.length)).toEqual([4, 3, 3]);
  });

  test("beside those of locked runs, in each round", async () => {
    const { keep, pass } = aProcess();
    const other = keep(ofOne);
    const ones = Array.from({ length: 3 }, () => keep(locked));
    await pass(6_000);
    expect(gaps(other.sentAt)).toEqual([2, 3]);
    expect(ones.flatMap(({ sentAt }) => gaps(sentAt))).toEqual([2, 5]);
  });

  test("until it is taken; then the gate is open", async () => {
    const { keep, pass, kept, gate } = aProcess();
    const finish = keep(full);
    expect(gate.isOpen).toBe(false);
    finish.refusal = undefined;
    await pass(10_000);
    expect(finish.sentAt).toHaveLength(1);
    expect(kept.size).toBe(0);
    expect(gate.isOpen).toBe(true);
  });

  test("alone: the others follow once it is taken", async () => {
    const { keep, pass } = aProcess();
    const finishes = Array.from({ length: 30 }, () => keep(unanswered));
    const sent = () => finishes.flatMap(({ sentAt }) => sentAt).length;
    await pass(2_000);
    expect(sent()).toBe(1);
    for (const finish of finishes) finish.refusal = undefined;
    await pass(5_000);
    expect(sent()).toBe(31);
  });

  test("and closes the gate only for the database's own reasons, or where too many bytes are kept", async () => {
    const { keep, gate } = aProcess();
    keep(ofOne, { bytes: 63 * megabyte });
    expect(gate.isOpen).toBe(true);
    keep(ofOne, { bytes: megabyte });
    expect(gate.isOpen).toBe(false);
  });
});

test("finishes of one call that was refused, since one of their runs is locked, are not taken for locked all", async () => {
  const { kept, gate, timers, pass } = aProcess();
  const answer = async (text: string, [parameter]: readonly unknown[] = []) => {
    if (text.includes("read_clock")) return [{ answer: { now: 0, migration: newestMigration } }];
    const { turns }: { turns: readonly FinishRun[] } = JSON.parse(String(parameter));
    if (turns.some(({ runId }) => runId === "locked"))
      throw new QueryError("lock timeout", { sqlState: "55P03", isRolledBack: true });
    return [{ answer: { now: 0, turns: turns.map(() => ({ outcome: "finished" })) } }];
  };
  const query: Query = Object.assign(answer, { endpoint: "here" });
  const calls = makeCalls({ query, namespace: "default", alarm: async () => {}, host: timers });
  const runIds = ["locked", "locked", "locked", "other", "another"];
  const claim = {
    ...{ environment: "production", endpoint: "here", versions: {} },
    ...{ leaseMs: 60_000, maxClaims: 6, maxBeginnings: 3 },
  };
  const finishes = new Finishes({
    ...{ calls, host: timers, claim, turns: runIds.length, kept },
    endsAt: Number.POSITIVE_INFINITY,
    onError: () => {},
  });
  const taken: string[] = [];
  for (const runId of runIds)
    void finishes.send({ runId, token: "t", position: 1, next: "ready" }, [], ({ runId }) => void taken.push(runId));
  await pass(3_000);
  expect(taken.toSorted()).toEqual(["another", "other"]);
  expect(gate.isOpen).toBe(true);
});

describe("a finish that was refused is given up", () => {
  test("at its end, after a last try", async () => {
    const { keep, pass, gate } = aProcess();
    const finish = keep(full, { endsAt: 7_000 });
    await pass(60_000);
    expect(finish.sentAt.at(-1)).toBe(7_000);
    expect(finish.givenUp).toBe(full.error);
    expect(gate.isOpen).toBe(true);
  });

  test("at its end, with all others whose runs are locked, whichever was sent last", async () => {
    const { keep, pass, kept } = aProcess();
    const ones = Array.from({ length: 5 }, () => keep(locked, { endsAt: 7_000 }));
    await pass(7_000);
    expect(ones.map(({ givenUp }) => givenUp)).toEqual(ones.map(() => locked.error));
    expect(kept.size).toBe(0);
  });

  test("when its process gives up all of them, and so is each that comes later", async () => {
    const { keep, pass, kept, gate } = aProcess();
    const finish = keep(full);
    kept.abandon();
    expect(finish.givenUp).toBe(full.error);
    expect(keep(full).givenUp).toBe(full.error);
    await pass(60_000);
    expect(finish.sentAt).toEqual([]);
    expect(gate.isOpen).toBe(true);
  });
});
