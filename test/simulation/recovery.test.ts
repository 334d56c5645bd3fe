import { expect, test } from "vitest";
import { noneMet } from "./faults.ts";
import { drainObjection, longestWaitMs } from "./recovery.ts";
import { type Prospect, Rules } from "./rules.ts";
import type { RunRows } from "./snapshot.ts";

const onNode = { platform: "node", chances: noneMet(), clockSteps: [], isHintLost: false } as const;
const start = Date.UTC(2026, 0, 1, 12);

function aRun(changes: Partial<RunRows>): RunRows {
  return {
    ...{ runId: "run 1", workflow: "program", version: 1, status: "parked", epoch: 0, blocked: null },
    ...{ isPaused: false, pausedAt: null, timeoutAt: null, copied: 0, isStopped: false },
    ...{
      turn: 1,
      token: null,
      finishedToken: null,
      leasedUntil: null,
      readyAt: start,
      stopsAt: null,
      due: start,
      claimableAt: start,
      isSuspect: false,
    },
    ...{
      dispatches: 0,
      lastPosition: 0,
      handedPosition: 0,
      hasPending: false,
      hasMail: false,
      closed: [],
      end: null,
      customStatus: null,
      records: [],
    },
    ...{ isCancelling: false, closings: 0, tidied: [], untidy: [], isDistinct: true },
    ...{ steps: [], invoked: [], children: [], attempted: [], bookings: [], isInterrupted: false },
    ...{ isClosing: false, ending: null, endings: 0, undos: null, failedUndos: null },
    ...{ isDense: true, timesAscend: true, pending: [], signals: [], answers: [] },
    ...changes,
  };
}

type Look = Partial<RunRows> & Partial<Prospect>;

/** The judge looks several times at one run, and this answers its complaints at the last look. `afterMs`: from the start to the look. */
function wrongsAtLast(...looks: readonly (readonly [afterMs: number, look: Look])[]) {
  const rules = new Rules();
  const look = (now: number, { calmAt = start, lateMs = 0, groupAt = 0, ...changes }: Look) =>
    rules.check(
      { orphans: 0, bare: 0, kept: [], runs: [aRun(changes)] },
      {
        ...{ alarms: [], isExact: false, graceMs: 0, since: start, now, calmAt },
        ...{
          carries: () => true,
          mostDispatches: () => 100,
          mayBeDeleted: () => false,
          isTakenOver: false,
          latest: 0,
          isBeginning: true,
          steppedMs: lateMs,
          lateMs,
          groupAt,
        },
        longestWaitMs: (dispatches) => longestWaitMs(onNode, dispatches),
      },
    );
  return looks.map(([afterMs, each]) => look(start + afterMs, each)).at(-1);
}

/** The judge looks twice at a run that stays as it is, and this answers its complaints at the second look. */
function wrongsAfter(waitedMs: number, look: Look = {}) {
  return wrongsAtLast([0, look], [waitedMs, look]);
}

test("a run that could be claimed for more than a minute, with nothing going wrong, stands still", () => {
  expect(wrongsAfter(61_000)).toEqual([]);
  expect(wrongsAfter(61_001)).toEqual([
    "of run 1: it could be claimed, nothing went wrong any more, and nobody did so for 61.001 s",
  ]);
});

test("the minute counts from the last fault, and not for who is blocked or waits for a signal", () => {
  expect(wrongsAfter(90_000, { calmAt: start + 30_000 })).toEqual([]);
  expect(wrongsAfter(90_000, { isStopped: true, blocked: "for a reason" })).toEqual([]);
  expect(wrongsAfter(90_000, { claimableAt: null })).toEqual([]);
});

test("the minute counts from when the last branch at work has ended, though another lease had ended long before", () => {
  const atWork = { claimableAt: start + 120_000 };
  const free = { claimableAt: start + 1_000 };
  expect(wrongsAtLast([0, atWork], [80_000, free], [141_000, free])).toEqual([]);
  expect(wrongsAtLast([0, atWork], [80_000, free], [141_001, free])).toHaveLength(1);
  expect(wrongsAtLast([0, { claimableAt: null }], [80_000, free], [141_000, free])).toEqual([]);
});

test("the minute counts for a suspect from the end of the group that it queues behind, and for nobody else", () => {
  const groupAt = start + 29_000;
  expect(wrongsAfter(90_000, { groupAt, isSuspect: true })).toEqual([]);
  expect(wrongsAfter(90_001, { groupAt, isSuspect: true })).toHaveLength(1);
  expect(wrongsAfter(90_000, { groupAt })).toHaveLength(1);
});

test("the minute counts for a run that is at its timeout, or cancelled, from the end of its branches' leases", () => {
  const branch = {
    ...({
      place: "a#1",
      kind: "branch",
      signal: null,
      isTimed: false,
      isReleased: false,
      isMistold: false,
      isShielded: false,
      turn: 1,
    } as const),
    ...{ token: "t", finishedToken: null, leasedUntil: start + 29_000, position: null },
  };
  expect(wrongsAfter(90_000, { stopsAt: start, pending: [branch], hasPending: true })).toEqual([]);
  expect(wrongsAfter(90_001, { stopsAt: start, pending: [branch], hasPending: true })).toHaveLength(1);
  expect(wrongsAfter(90_000, { pending: [branch], hasPending: true })).toHaveLength(1);
  const cleanup = { ...branch, isShielded: true };
  expect(wrongsAfter(90_000, { stopsAt: start, pending: [cleanup], hasPending: true })).toHaveLength(1);
  const late = { isCancelling: true, closings: 1, stopsAt: start };
  expect(wrongsAfter(90_000, { ...late, pending: [cleanup], hasPending: true })).toEqual([]);
});

test("where the database's clock was set ahead, a run may wait so much longer", () => {
  expect(wrongsAfter(90_000, { lateMs: 29_000 })).toEqual([]);
  expect(wrongsAfter(90_001, { lateMs: 29_000 })).toHaveLength(1);
});

test("what takes three times as long as without faults, and two waits more, takes too long to end", () => {
  const calm = { calmAt: 0, movedAt: 100_000, isHintLost: false };
  const mostMs = 3 * 100_000 + 2 * (60_000 + 61_000);
  expect(drainObjection({ ...calm, calmAt: 5_000, movedAt: 5_000 + mostMs }, calm, onNode)).toBeUndefined();
  expect(drainObjection({ ...calm, calmAt: 5_000, movedAt: 5_001 + mostMs }, calm, onNode)).toBe(
    "it took 542.001 s to end after the last fault, and 100 s in all without any",
  );
});
