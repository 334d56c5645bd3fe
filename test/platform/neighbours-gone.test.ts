/**
 * Several processes that arm at each other, of which one dies, ends or cannot be reached: what it had to ring rings
 * elsewhere.
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

describe("a process whose neighbour has died", () => {
  test("knows it after two pings without an answer, and looks for what is ready soon", async () => {
    const [a, b] = [await network.aProcess("a"), await network.aProcess("b")];
    await pass(minuteMs);
    expect([a.looks, a.reports]).toEqual([[], []]);
    b.kill();
    await pass(39_000);
    expect(a.looks).toEqual([]);
    await pass(2_000);
    expect(a.looks).toEqual([100]);
    expect(a.reports).toEqual([expect.stringContaining("the process b at b has not answered twice: no answer")]);
  });

  test("gives what both were to ring at another place, whoever armed it", async () => {
    const [a, b, c] = [await network.aProcess("a"), await network.aProcess("b"), await network.aProcess("c")];
    await a.arm(noon + 20 * minuteMs);
    await b.arm(noon + 30 * minuteMs);
    b.kill();
    await pass(minuteMs);
    a.kill();
    await pass(40 * minuteMs);
    expect(c.rings).toEqual(expect.arrayContaining([1_205, 1_805]));
  });

  test("gives it to the next process that begins", async () => {
    const [a, b] = [await network.aProcess("a"), await network.aProcess("b")];
    await b.arm(noon + 20 * minuteMs);
    b.kill();
    await pass(10 * minuteMs);
    const c = await network.aProcess("c");
    await pass(1_000);
    a.kill();
    await pass(20 * minuteMs);
    expect(c.rings).toContain(1_205);
  });

  test("looks once a minute until it has struck that one from the list", async () => {
    await network.aProcess("a");
    const b = await network.aProcess("b");
    await pass(minuteMs);
    b.kill();
    network.lists = [];
    await pass(60 * minuteMs);
    expect(network.lists).toEqual(["a 100", "a 160", "a 220", "a 280"]);
    expect([...network.listed.keys()]).toEqual(["a"]);
  });
});

describe("two processes that cannot reach each other", () => {
  test("look once a minute each and strike nobody, until they can", async () => {
    const [a, b] = [await network.aProcess("a"), await network.aProcess("b")];
    network.cut = new Set(["a b", "b a"]);
    network.lists = [];
    await pass(10 * minuteMs); // they were listed just now, so the first look writes nothing
    expect(network.lists.filter((each) => each.startsWith("a"))).toHaveLength(9);
    expect(network.lists.filter((each) => each.startsWith("b"))).toHaveLength(9);
    expect([...network.listed.keys()].sort()).toEqual(["a", "b"]);
    await a.arm(network.now() + 20 * minuteMs);
    network.cut = new Set();
    await pass(minuteMs);
    network.lists = [];
    await pass(10 * minuteMs);
    expect(network.lists).toEqual([]);
    a.kill();
    await pass(20 * minuteMs);
    expect(b.rings.at(-1)).toBe(30 * 60 + 5);
  });
});

describe("a process that ends", () => {
  test("has all that stands ring in two that stay", async () => {
    const [a, b, c] = [await network.aProcess("a"), await network.aProcess("b"), await network.aProcess("c")];
    const d = await network.aProcess("d");
    await a.arm(noon + 20 * minuteMs);
    await d.arm(noon + 30 * minuteMs); // stands in a, too
    await a.end();
    await pass(1_000);
    b.kill();
    d.kill();
    await pass(40 * minuteMs);
    expect(c.rings).toEqual(expect.arrayContaining([1_205, 1_805]));
    expect([a.rings, a.reports]).toEqual([[], []]);
  });

  test("has another one ring that could not be reached when it was armed", async () => {
    const [a, b] = [await network.aProcess("a"), await network.aProcess("b")];
    network.cut = new Set(["a b"]);
    await a.arm(noon + 2 * minuteMs);
    network.cut = new Set();
    await a.end();
    await pass(5 * minuteMs);
    expect(b.rings).toEqual([125]);
  });

  test("has one of them look at once, and is missed by nobody", async () => {
    const [a, b, c] = [await network.aProcess("a"), await network.aProcess("b"), await network.aProcess("c")];
    await pass(minuteMs);
    await a.end();
    expect([b.looks, c.looks]).toEqual([[60], []]);
    network.lists = [];
    await pass(60 * minuteMs);
    expect([network.lists, b.reports, c.reports]).toEqual([[], [], []]);
    expect([...network.listed.keys()].sort()).toEqual(["b", "c"]);
  });

  test("arms what it needs in two that stay, and not by its own timers", async () => {
    const [a, b, c] = [await network.aProcess("a"), await network.aProcess("b"), await network.aProcess("c")];
    await a.neighbours.handOver();
    await a.arm(noon + 2 * minuteMs);
    await pass(5 * minuteMs);
    expect([a.rings, b.rings, c.rings]).toEqual([[], [125], [125]]);
  });

  test("takes nothing any more from others, who find another place", async () => {
    const [a, b, c] = [await network.aProcess("a"), await network.aProcess("b"), await network.aProcess("c")];
    network.cut = new Set(["b a"]); // so a does not hear that b ends
    await b.neighbours.handOver();
    await a.arm(noon + 2 * minuteMs);
    await pass(5 * minuteMs);
    expect([b.rings, c.rings]).toEqual([[], [125]]);
  });
});
