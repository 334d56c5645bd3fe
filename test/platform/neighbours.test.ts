/**
 * Several processes that arm at each other: where an instant rings, and what they ask of each other and of the
 * database.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { minuteMs, Neighbourhood, noon, pass } from "./played-neighbours.ts";

let network: Neighbourhood;

beforeEach(() => {
  network = new Neighbourhood();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("an instant that one of two processes arms", () => {
  test("rings in both, a little after its minute in the other one", async () => {
    const [a, b] = [await network.aProcess("a"), await network.aProcess("b")];
    await a.arm(noon + 90_000);
    await pass(5 * minuteMs);
    expect([a.rings, b.rings]).toEqual([[90], [125]]);
  });

  test("is armed once for all instants of one minute", async () => {
    const [a, b] = [await network.aProcess("a"), await network.aProcess("b")];
    network.calls = [];
    for (const ms of [61_000, 75_000, 90_000, 120_000]) await a.arm(noon + ms);
    expect(network.calls).toEqual(["a b 1"]);
    await pass(5 * minuteMs);
    expect(b.rings).toEqual([125]);
  });

  test("is armed anew where its distance has changed", async () => {
    const [a, b] = [await network.aProcess("a"), await network.aProcess("b")];
    await a.arm(noon + 2 * minuteMs);
    await a.neighbours.arm([{ at: noon + 2 * minuteMs, inMs: 7 * minuteMs }]);
    await pass(10 * minuteMs);
    expect([a.rings, b.rings]).toEqual([[420], [425]]);
  });

  test("rings in the other one when its process is dead", async () => {
    const [a, b] = [await network.aProcess("a"), await network.aProcess("b")];
    await a.arm(noon + 10 * minuteMs);
    a.kill();
    await pass(11 * minuteMs);
    expect(b.rings).toContain(605);
  });

  test("is armed in a process that carries all that its own one does", async () => {
    const a = await network.aProcess("a", { order: [1, 2] });
    const b = await network.aProcess("b", { order: [1] });
    const c = await network.aProcess("c", { order: [2, 3, 1] });
    await a.arm(noon + 2 * minuteMs);
    await pass(5 * minuteMs);
    expect([b.rings, c.rings]).toEqual([[], [125]]);
  });

  test("is armed in one that carries less where there is no other, until there is one", async () => {
    const a = await network.aProcess("a", { order: [1], mail: [1] });
    const b = await network.aProcess("b", { order: [2], mail: [1] });
    await a.arm(noon + 2 * minuteMs);
    await a.arm(noon + 20 * minuteMs);
    await pass(5 * minuteMs);
    expect(b.rings).toEqual([125]);
    const c = await network.aProcess("c", { order: [1, 2], mail: [1] });
    await pass(minuteMs);
    a.kill();
    b.kill();
    await pass(20 * minuteMs);
    expect(c.rings).toContain(1_205);
  });

  test("gets another place once the process answers that did not take it", async () => {
    const a = await network.aProcess("a", { order: [1], mail: [1] });
    const b = await network.aProcess("b", { order: [2], mail: [1] });
    const c = await network.aProcess("c", { order: [1], mail: [1] });
    network.cut = new Set(["a c"]);
    await a.arm(noon + 20 * minuteMs);
    network.cut = new Set();
    await pass(30_000);
    a.kill();
    b.kill();
    await pass(20 * minuteMs);
    expect(c.rings).toContain(1_205);
  });

  test("waits for no answer of a process that is dead, once that is known", async () => {
    const [a, b, c] = [await network.aProcess("a"), await network.aProcess("b"), await network.aProcess("c")];
    b.kill();
    network.calls = [];
    await a.arm(noon + 2 * minuteMs);
    await a.arm(noon + 3 * minuteMs);
    expect(network.calls).toEqual(["a b 1", "a c 1", "a c 1"]);
    await pass(5 * minuteMs);
    expect(c.rings).toEqual(expect.arrayContaining([125, 185]));
  });
});

test("a process without any other one rings by itself", async () => {
  const a = await network.aProcess("a");
  await a.arm(noon + 90_000);
  await pass(60 * minuteMs);
  expect([a.rings, network.calls]).toEqual([[90], []]);
});

test("a process that ticks often is listed once an hour", async () => {
  const a = await network.aProcess("a");
  for (let minute = 0; minute < 120; minute += 1) {
    await pass(minuteMs);
    await a.tick();
  }
  expect(network.lists).toEqual(["a 0", "a 3600", "a 7200"]);
});

test("processes that all answer ask nothing of the database, and each is asked every 20 seconds", async () => {
  for (const name of ["a", "b", "c"]) await network.aProcess(name);
  [network.lists, network.calls] = [[], []];
  await pass(24 * 60 * minuteMs);
  expect(network.lists).toEqual([]);
  expect(network.calls.slice(0, 6).sort()).toEqual(["a b", "a b", "b c", "b c", "c a", "c a"]);
  expect(network.calls).toHaveLength((3 * 24 * 60 * minuteMs) / 20_000);
});

test("whom a message is not for refuses it, so that a load balancer passes for nobody's neighbour", async () => {
  const a = await network.aProcess("a", undefined, "balancer");
  const b = await network.aProcess("b", undefined, "balancer");
  await b.arm(noon + 2 * minuteMs);
  await pass(minuteMs);
  expect(b.reports).toEqual([expect.stringContaining("the message is for another process than this one")]);
  expect(a.rings).toEqual([]);
});
