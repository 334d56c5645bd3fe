/**
 * The requests that a Worker sends to itself: which turns go together, how many requests there are, and who goes
 * alone.
 */
import { expect, test, vi } from "vitest";
import type { TurnRef } from "../../src/core/ports.ts";
import { mostTurnsBytes, readTurns, turnsPath, turnsRequest } from "../../src/http/internal.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { SelfDispatch } from "../../src/platform/cloudflare/self-dispatch.ts";
import { hostClock } from "../../src/postgres/host-clock.ts";
import { pass, playTime, Requests } from "./played-requests.ts";

playTime();

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
  expect(requests.sent.map((turns) => turns.length)).toEqual([11, 10, 10, 10]);
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

/** A branch's turn, of more bytes than its path has characters. */
const branchTurn = (runId: string, length: number): TurnRef => ({
  runId,
  turn: 1,
  branch: { path: "ß".repeat(length), occurrence: 1 },
});

test("what is longer than a request may be goes in several, and room is left for it", async () => {
  const requests = new Requests();
  const turns = Array.from({ length: 7 }, (_, index) => branchTurn(`${index}`, 1_400));
  await requests.dispatch(turns);
  await pass(0);
  for (let answers = 0; answers < 4; answers += 1) await requests.answer();
  expect(requests.sent).toEqual([["0", "1"], ["2", "3"], ["4", "5"], ["6"]]);
  expect(requests.selfDispatch.isWhole).toBe(true);
});

test("a turn that no request has room for goes alone, and holds up no other", async () => {
  const requests = new Requests();
  await requests.dispatch(["a", branchTurn("long", 3_000), "b"]);
  await pass(0);
  await requests.answer();
  expect(requests.sent).toEqual([["a"], ["long"], ["b"]]);
});

test("as many turns as a request may have are read by who receives it", async () => {
  vi.useRealTimers();
  const signing = { secrets: new Secrets([`for this test ${crypto.randomUUID()}`]), namespace: "default" };
  const received: string[] = [];
  const errors: unknown[] = [];
  const selfDispatch = new SelfDispatch({
    async send(turns) {
      const request = turnsRequest({ turns, hops: 12, until: Date.now() }, signing);
      const message = await readTurns(new Request(`https://example.com${turnsPath}`, request), signing);
      received.push(...message.turns.map(({ runId }) => runId));
    },
    batch: 200,
    mostBytes: mostTurnsBytes,
    mostRequests: 4,
    concurrency: 4,
    until: () => Number.POSITIVE_INFINITY,
    onError: (error) => void errors.push(error),
    host: hostClock,
  });
  const turns = Array.from({ length: 500 }, (_, index) => branchTurn(`${index}`, 200));
  await selfDispatch.dispatch(turns, 0);
  await selfDispatch.settled();
  expect(errors).toEqual([]);
  expect(received).toHaveLength(500);
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

test("what may have killed its isolate and goes in groups shares a request with its group", async () => {
  const requests = new Requests();
  const inGroups = ["x", "y", "z"].map((runId) => ({ runId, turn: 1, groupSize: 2 }));
  await requests.dispatch(["a", ...inGroups]);
  await pass(0);
  for (let answers = 0; answers < 3; answers += 1) await requests.answer();
  expect(requests.sent).toEqual([["a"], ["x", "y"], ["z"]]);
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
