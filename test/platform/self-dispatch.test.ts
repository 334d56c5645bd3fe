import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { TurnRef } from "../../src/core/ports.ts";
import { SelfDispatch } from "../../src/platform/self-dispatch.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Requests that are answered when the test says so. */
class Requests {
  readonly sent: string[][] = [];
  readonly goOn: boolean[] = [];
  until = Number.POSITIVE_INFINITY;
  readonly held: Promise<void>[] = [];
  readonly errors: unknown[] = [];
  readonly #answers: { resolve: () => void; reject: (error: unknown) => void }[] = [];
  readonly selfDispatch = new SelfDispatch({
    send: (turns, goesOn) => {
      this.goOn.push(goesOn);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      this.sent.push(turns.map(({ runId }) => runId));
      this.#answers.push({ resolve, reject });
      return promise;
    },
    batch: 3,
    mostRequests: 4,
    concurrency: 2,
    until: () => this.until,
    hold: (sent) => void this.held.push(sent),
    onError: (error) => void this.errors.push(error),
  });

  async dispatch(turns: readonly (string | TurnRef)[], delayMs = 0): Promise<void> {
    const refs = turns.map((turn) => (typeof turn === "string" ? { runId: turn, turn: 1 } : turn));
    await this.selfDispatch.dispatch(refs, delayMs);
  }

  async answer(error?: unknown): Promise<void> {
    const answer = this.#answers.shift();
    if (error === undefined) answer?.resolve();
    else answer?.reject(error);
    await pass(0);
  }
}

const pass = async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms));

test("what is dispatched in the same moment goes in one request", async () => {
  const requests = new Requests();
  await requests.dispatch(["a"]);
  await requests.dispatch(["b", "c"]);
  expect(requests.sent).toEqual([]);
  await pass(0);
  await requests.dispatch(["d"]);
  await pass(0);
  expect(requests.sent).toEqual([["a", "b", "c"], ["d"]]);
});

test("what is more than a batch goes in several, and only so many at a time", async () => {
  const requests = new Requests();
  await requests.dispatch(["a", "b", "c", "d", "e", "f", "g"]);
  await pass(0);
  expect(requests.sent).toEqual([
    ["a", "b", "c"],
    ["d", "e", "f"],
  ]);
  await requests.answer();
  expect(requests.sent.at(-1)).toEqual(["g"]);
});

test("a burst goes in so many requests at most, of more than a batch", async () => {
  const requests = new Requests();
  await requests.dispatch(Array.from({ length: 41 }, (_, index) => `${index}`));
  await pass(0);
  for (let answers = 0; answers < 4; answers += 1) await requests.answer();
  expect(requests.sent.map((turns) => turns.length)).toEqual([11, 11, 11, 8]);
});

test.each([
  ["go on with what follows from them", 6, true],
  ["that others queue behind go no further than their turns", 7, false],
])("requests %s", async (_, count, goesOn) => {
  const requests = new Requests();
  await requests.dispatch(Array.from({ length: count }, (_, index) => `${index}`));
  await pass(0);
  expect(requests.goOn).toEqual([goesOn, goesOn]);
});

test("the requests of several moments are so many at most in all, and what is beyond is left to the scheduler", async () => {
  const requests = new Requests();
  for (let moment = 0; moment < 3; moment += 1) {
    await requests.dispatch(["a", "b", "c", "d"]);
    await pass(0);
  }
  await requests.dispatch(["e"]);
  await pass(0);
  expect(requests.sent).toEqual([["a", "b", "c"], ["d"], ["a", "b", "c"], ["d"]]);
});

test("a request carries two hundred turns at most", async () => {
  const requests = new Requests();
  await requests.dispatch(Array.from({ length: 1_000 }, (_, index) => `${index}`));
  await pass(0);
  for (let answers = 0; answers < 4; answers += 1) await requests.answer();
  expect(requests.sent.map((turns) => turns.length)).toEqual([200, 200, 200, 200]);
});

test("nothing goes out after the end, nor is a wait begun that would last until then", async () => {
  const requests = new Requests();
  requests.until = Date.now() + 1_000;
  await requests.dispatch(["soon"], 900);
  await requests.dispatch(["late"], 1_000);
  expect(requests.held).toHaveLength(1);
  await pass(999);
  expect(requests.sent).toEqual([["soon"]]);
  await pass(1);
  await requests.dispatch(["later"]);
  await pass(60_000);
  expect(requests.sent).toEqual([["soon"]]);
});

test("what queues when the end comes stays where it is", async () => {
  const requests = new Requests();
  requests.until = Date.now() + 1_000;
  await requests.dispatch(["a", "b", "c", "d", "e", "f", "g"]);
  await pass(1_000);
  await requests.answer();
  await requests.answer();
  expect(requests.sent).toHaveLength(2);
  await requests.selfDispatch.settled();
});

test("what is dispatched while one work is under way is of one moment", async () => {
  const requests = new Requests();
  const { promise: done, resolve: end } = Promise.withResolvers<void>();
  const work = requests.selfDispatch.together(() => done);
  await requests.dispatch(["a"]);
  await pass(1_000);
  await requests.dispatch(["b"]);
  expect(requests.sent).toEqual([]);
  end();
  await work;
  await pass(0);
  expect(requests.sent).toEqual([["a", "b"]]);
});

test("what was dispatched goes out though the work fails", async () => {
  const requests = new Requests();
  const work = requests.selfDispatch.together(async () => {
    await requests.dispatch(["a"]);
    throw new Error("half done");
  });
  await expect(work).rejects.toThrow("half done");
  await pass(0);
  expect(requests.sent).toEqual([["a"]]);
});

test("what may have killed its isolate goes alone", async () => {
  const requests = new Requests();
  await requests.dispatch(["a", { runId: "killer", turn: 1, alone: true }, "b"]);
  await pass(0);
  expect(requests.sent).toEqual([["a", "b"], ["killer"]]);
});

test("of many that go alone a third of the requests carries one each", async () => {
  const requests = new Requests();
  await requests.dispatch(
    Array.from({ length: 5 }, (_, index) => ({ runId: `killer ${index}`, turn: 1, alone: true })),
  );
  await requests.dispatch(["a", "b", "c", "d", "e", "f", "g"]);
  await pass(0);
  for (let answers = 0; answers < 4; answers += 1) await requests.answer();
  expect(requests.sent).toEqual([["a", "b", "c", "d"], ["e", "f", "g"], ["killer 0"], ["killer 1"]]);
});

test("a short wait is waited for, a longer one is left to the scheduler", async () => {
  const requests = new Requests();
  await requests.dispatch(["soon"], 10_000);
  await requests.dispatch(["late"], 10_001);
  await pass(9_999);
  expect(requests.sent).toEqual([]);
  await pass(60_000);
  expect(requests.sent).toEqual([["soon"]]);
});

test("it is settled when all is answered, waits included; whoever holds it knows of each", async () => {
  const requests = new Requests();
  let isSettled = false;
  await requests.dispatch(["now"]);
  await requests.dispatch(["soon"], 1_000);
  const settled = requests.selfDispatch.settled().then(() => {
    isSettled = true;
  });
  await pass(0);
  await requests.answer();
  expect(isSettled).toBe(false);
  await pass(1_001);
  expect(isSettled).toBe(false);
  await requests.answer();
  await Promise.all([settled, ...requests.held]);
  expect(isSettled).toBe(true);
});

test("a request that fails is reported, and the others go on", async () => {
  const requests = new Requests();
  await requests.dispatch(["a", "b", "c", "d", "e", "f", "g"]);
  await pass(0);
  await requests.answer(new Error("refused"));
  await requests.answer();
  await requests.answer();
  await requests.selfDispatch.settled();
  expect(requests.errors).toEqual([new Error("refused")]);
  expect(requests.sent).toHaveLength(3);
});
