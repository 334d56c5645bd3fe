/** How the requests of a Worker to itself end: what goes out no more, and when all is settled and whole. */
import { describe, expect, test } from "vitest";
import { pass, playTime, Requests } from "./played-requests.ts";

playTime();

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

describe("it is whole", () => {
  test("when all was answered well, a wait that is the scheduler's aside", async () => {
    const requests = new Requests();
    await requests.dispatch(["a", "b", "c", "d"]);
    await requests.dispatch(["late"], 10_001);
    await pass(0);
    await requests.answer();
    await requests.answer();
    await requests.selfDispatch.settled();
    expect(requests.selfDispatch.isWhole).toBe(true);
  });

  test("no more once a request has failed, whatever follows", async () => {
    const requests = new Requests();
    await requests.dispatch(["a"]);
    await pass(0);
    await requests.answer(new Error("refused"));
    await requests.dispatch(["b"]);
    await pass(0);
    await requests.answer();
    expect(requests.selfDispatch.isWhole).toBe(false);
  });

  test.each([
    ["at once", 0],
    ["after a wait", 5_000],
  ])("not where what is to go %s would go after the end", async (_, delayMs) => {
    const requests = new Requests();
    requests.until = Date.now() + delayMs;
    await requests.dispatch(["a"], delayMs);
    await pass(10_000);
    expect(requests.sent).toEqual([]);
    expect(requests.selfDispatch.isWhole).toBe(false);
  });

  test("not where the end comes while requests queue", async () => {
    const requests = new Requests();
    requests.until = Date.now() + 1_000;
    await requests.dispatch(["a", "b", "c", "d", "e", "f", "g"]);
    await pass(1_000);
    expect(requests.selfDispatch.isWhole).toBe(true);
    await requests.answer();
    expect(requests.selfDispatch.isWhole).toBe(false);
  });

  test.each([
    ["together", false, 801],
    ["alone", true, 3],
  ])("not where more goes %s than there are requests for", async (_, alone, count) => {
    const requests = new Requests();
    await requests.dispatch(Array.from({ length: count }, (_, index) => ({ runId: `${index}`, turn: 1, alone })));
    await pass(0);
    expect(requests.selfDispatch.isWhole).toBe(false);
  });
});
