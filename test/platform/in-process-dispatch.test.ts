import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { TurnRef } from "../../src/core/ports.ts";
import { InProcessDispatch } from "../../src/platform/node/in-process/in-process-dispatch.ts";

interface Invocation {
  readonly runs: readonly string[];
  end(): void;
}

function aDispatch({ concurrency = 1, batch = 10 } = {}): { dispatch: InProcessDispatch; invocations: Invocation[] } {
  const invocations: Invocation[] = [];
  const carryOut = (turns: readonly TurnRef[]) =>
    new Promise<void>((end) => invocations.push({ runs: turns.map(({ runId }) => runId), end }));
  return { dispatch: new InProcessDispatch({ carryOut, concurrency, batch }), invocations };
}

function turns(...runIds: string[]): TurnRef[] {
  return runIds.map((runId) => ({ runId, turn: 1 }));
}

function alone(...runIds: string[]): TurnRef[] {
  return turns(...runIds).map((turn) => ({ ...turn, alone: true }));
}

function inGroups(groupSize: number, ...runIds: string[]): TurnRef[] {
  return turns(...runIds).map((turn) => ({ ...turn, groupSize }));
}

const runsOf = (invocations: readonly Invocation[]) => invocations.map(({ runs }) => runs);
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("what is dispatched in process", () => {
  test("begins at once, and what comes meanwhile goes together in the next invocation", async () => {
    const { dispatch, invocations } = aDispatch();
    await dispatch.dispatch(turns("a"), 0);
    await dispatch.dispatch(turns("b"), 0);
    await dispatch.dispatch(turns("c", "d"), 0);
    expect(runsOf(invocations)).toEqual([["a"]]);
    invocations[0]?.end();
    await settled();
    expect(runsOf(invocations)).toEqual([["a"], ["b", "c", "d"]]);
  });

  test("goes together where it is dispatched one by one, but without anything in between", async () => {
    const { dispatch, invocations } = aDispatch({ concurrency: 9 });
    await Promise.all(["a", "b", "c"].map((run) => dispatch.dispatch(turns(run), 0)));
    expect(runsOf(invocations)).toEqual([["a", "b", "c"]]);
  });

  test("goes in invocations of at most so many turns, and of these at most so many at a time", async () => {
    const { dispatch, invocations } = aDispatch({ concurrency: 2, batch: 2 });
    await dispatch.dispatch(turns("a", "b", "c", "d", "e"), 0);
    expect(runsOf(invocations)).toEqual([
      ["a", "b"],
      ["c", "d"],
    ]);
    invocations[1]?.end();
    await settled();
    expect(runsOf(invocations).slice(2)).toEqual([["e"]]);
  });

  test("goes alone where it may have killed its process before, one such at a time, and holds up nobody else", async () => {
    const { dispatch, invocations } = aDispatch({ concurrency: 9 });
    await dispatch.dispatch([...alone("x", "y"), ...turns("a", "b"), ...alone("z")], 0);
    expect(runsOf(invocations)).toEqual([["x"], ["a", "b"]]);
    await dispatch.dispatch(turns("c"), 0);
    expect(runsOf(invocations).slice(2)).toEqual([["c"]]);
    invocations[1]?.end();
    await settled();
    expect(runsOf(invocations).slice(3)).toEqual([]);
    invocations[0]?.end();
    await settled();
    expect(runsOf(invocations).slice(3)).toEqual([["y"]]);
    invocations[3]?.end();
    await settled();
    expect(runsOf(invocations).slice(4)).toEqual([["z"]]);
  });

  test("goes in groups of its size where it may have killed its process before, one of all groups at a time", async () => {
    const { dispatch, invocations } = aDispatch({ concurrency: 9 });
    await dispatch.dispatch([...inGroups(4, "a", "b"), ...alone("x"), ...inGroups(4, "c", "d", "e")], 0);
    await dispatch.dispatch(turns("z"), 0);
    for (let ended = 0; ended < invocations.length; ended += 1) {
      invocations[ended]?.end();
      await settled();
    }
    expect(runsOf(invocations)).toEqual([["a", "b", "c", "d"], ["z"], ["x"], ["e"]]);
  });

  test("goes by turns, alone and together, where only one invocation may be under way", async () => {
    const { dispatch, invocations } = aDispatch({ concurrency: 1, batch: 2 });
    await dispatch.dispatch([...alone("x", "y", "z"), ...turns("a", "b", "c")], 0);
    for (let ended = 0; ended < invocations.length; ended += 1) {
      invocations[ended]?.end();
      await settled();
    }
    expect(runsOf(invocations)).toEqual([["x"], ["a", "b"], ["y"], ["c"], ["z"]]);
  });

  test("is idle when nothing is under way, whatever is delayed", async () => {
    const { dispatch, invocations } = aDispatch();
    await dispatch.dispatch(turns("a"), 0);
    await dispatch.dispatch(turns("b"), 0);
    await dispatch.dispatch(turns("z"), 60_000);
    let isIdle = false;
    const idle = dispatch.idle().then(() => {
      isIdle = true;
    });
    invocations[0]?.end();
    await settled();
    expect(isIdle).toBe(false);
    invocations[1]?.end();
    await idle;
    await dispatch.close();
  });

  test("ends what is under way when it is closed, and begins nothing that was queued, delayed, or comes later", async () => {
    const { dispatch, invocations } = aDispatch();
    await dispatch.dispatch(turns("a"), 0);
    await dispatch.dispatch(turns("queued"), 0);
    await dispatch.dispatch(turns("delayed"), 1);
    let isClosed = false;
    const closed = dispatch.close().then(() => {
      isClosed = true;
    });
    await dispatch.dispatch(turns("later"), 0);
    await settled();
    expect(isClosed).toBe(false);
    invocations[0]?.end();
    await closed;
    expect(runsOf(invocations)).toEqual([["a"]]);
  });
});

describe("of 6,400 turns that are ready together", () => {
  test("1,000 are under way, and as many more as have ended, each by itself", async () => {
    const taken: (() => void)[] = [];
    const carryOut = (refs: readonly TurnRef[], onEnd: () => void) => {
      for (const _ of refs) taken.push(onEnd);
      return new Promise<void>(() => {});
    };
    const dispatch = new InProcessDispatch({ carryOut, concurrency: 64, batch: 100 });
    await dispatch.dispatch(turns(...Array.from({ length: 6_400 }, (_, number) => `${number}`)), 0);
    expect(taken).toHaveLength(1_000);
    for (const end of taken.slice(0, 7)) end();
    await settled();
    expect(taken).toHaveLength(1_007);
  });
});

describe("a dispatch", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("that is slow keeps others from beginning for a second at most", async () => {
    const { dispatch, invocations } = aDispatch({ concurrency: 2 });
    for (const run of ["slow", "slower"]) {
      await dispatch.dispatch(turns(run), 0);
      await vi.advanceTimersByTimeAsync(0);
    }
    await dispatch.dispatch(turns("fast"), 0);
    await vi.advanceTimersByTimeAsync(999);
    expect(runsOf(invocations)).toEqual([["slow"], ["slower"]]);
    await vi.advanceTimersByTimeAsync(1);
    expect(runsOf(invocations)).toEqual([["slow"], ["slower"], ["fast"]]);
  });

  test("begins after its delay, beside what is ready before", async () => {
    const { dispatch, invocations } = aDispatch({ concurrency: 9 });
    await dispatch.dispatch(turns("late"), 5_000);
    await dispatch.dispatch(turns("now"), 0);
    await vi.advanceTimersByTimeAsync(4_999);
    expect(runsOf(invocations)).toEqual([["now"]]);
    await vi.advanceTimersByTimeAsync(1);
    expect(runsOf(invocations)).toEqual([["now"], ["late"]]);
  });
});
