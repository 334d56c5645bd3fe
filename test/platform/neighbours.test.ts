/** Several processes that arm at each other, in time that passes by hand and over a network that breaks by hand. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ArmMessage, Peer } from "../../src/http/arm.ts";
import { TimerAlarm } from "../../src/platform/node/in-process/timer-alarm.ts";
import { Neighbours } from "../../src/platform/node/neighbours/neighbours.ts";

const minuteMs = 60_000;
const noon = Date.UTC(2026, 0, 1, 12);

/** What the processes share: the list in the database, and the network. */
let listed: Map<string, { readonly peer: Peer; seenAt: number }>;
let world: Map<string, Played>;
let lists: string[];
let calls: string[];
/** `"a b"`: what a sends to b is lost. */
let cut: Set<string>;
let beganAt: number;

/** The database's time. */
function now(): number {
  return noon + performance.now() - beganAt;
}

interface Played {
  readonly name: string;
  readonly neighbours: Neighbours;
  /** When it rang, in seconds since the beginning. */
  readonly rings: number[];
  readonly looks: number[];
  readonly reports: string[];
  arm(...at: readonly number[]): Promise<void>;
  tick(): Promise<void>;
  kill(): void;
  end(): Promise<void>;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  beganAt = performance.now();
  listed = new Map();
  world = new Map();
  lists = [];
  calls = [];
  cut = new Set();
});
afterEach(() => {
  vi.useRealTimers();
});

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

function seconds(): number {
  return Math.round((now() - noon) / 1_000);
}

async function aProcess(name: string, versions: Peer["versions"] = { order: [1] }, door = name): Promise<Played> {
  const self = { id: name, door, versions };
  let isDead = false;
  const [rings, looks, reports]: [number[], number[], string[]] = [[], [], []];
  const alarm = new TimerAlarm(() => rings.push(seconds()));
  const tick = async () => await neighbours.refresh();
  const send = async (to: Peer, message: ArmMessage) => {
    calls.push(`${name} ${to.id}${message.instants.length > 0 ? ` ${message.instants.length}` : ""}`);
    const other = world.get(to.door);
    if (other === undefined || cut.has(`${name} ${to.door}`)) throw new Error("no answer");
    await other.neighbours.receive(message);
  };
  const neighbours = new Neighbours({
    self,
    alarm: alarm.arm,
    send,
    list: async ({ gone, silentMs, isLeaving = false }) => {
      if (isDead) return await new Promise(() => {});
      lists.push(`${name} ${seconds()}`);
      for (const id of gone) if ((listed.get(id)?.seenAt ?? 0) < now() - silentMs) listed.delete(id);
      if (isLeaving) listed.delete(name);
      else listed.set(name, { peer: self, seenAt: now() });
      return { now: now(), others: [...listed.values()].map(({ peer }) => peer).filter(({ id }) => id !== name) };
    },
    ring: () => {
      rings.push(seconds());
      void tick();
    },
    lookAhead: () => {
      looks.push(seconds());
      void tick();
    },
    onError: (error) => reports.push(String(error)),
  });
  const played: Played = {
    name,
    neighbours,
    rings,
    looks,
    reports,
    arm: async (...at) => await neighbours.arm(at.map((each) => ({ at: each, inMs: each - now() }))),
    tick,
    kill: () => {
      isDead = true;
      world.delete(door);
      for (const each of world.keys()) cut.add(`${name} ${each}`);
      alarm.close();
    },
    end: async () => {
      await neighbours.handOver();
      await neighbours.leave();
      alarm.close();
      world.delete(door);
    },
  };
  world.set(door, played);
  neighbours.begin();
  await tick();
  await pass(0);
  return played;
}

describe("an instant that one of two processes arms", () => {
  test("rings in both, a little after its minute in the other one", async () => {
    const [a, b] = [await aProcess("a"), await aProcess("b")];
    await a.arm(noon + 90_000);
    await pass(5 * minuteMs);
    expect([a.rings, b.rings]).toEqual([[90], [125]]);
  });

  test("is armed once for all instants of one minute", async () => {
    const [a, b] = [await aProcess("a"), await aProcess("b")];
    calls = [];
    for (const ms of [61_000, 75_000, 90_000, 120_000]) await a.arm(noon + ms);
    expect(calls).toEqual(["a b 1"]);
    await pass(5 * minuteMs);
    expect(b.rings).toEqual([125]);
  });

  test("is armed anew where its distance has changed", async () => {
    const [a, b] = [await aProcess("a"), await aProcess("b")];
    await a.arm(noon + 2 * minuteMs);
    await a.neighbours.arm([{ at: noon + 2 * minuteMs, inMs: 7 * minuteMs }]);
    await pass(10 * minuteMs);
    expect([a.rings, b.rings]).toEqual([[420], [425]]);
  });

  test("rings in the other one when its process is dead", async () => {
    const [a, b] = [await aProcess("a"), await aProcess("b")];
    await a.arm(noon + 10 * minuteMs);
    a.kill();
    await pass(11 * minuteMs);
    expect(b.rings).toContain(605);
  });

  test("is armed in a process that carries all that its own one does", async () => {
    const a = await aProcess("a", { order: [1, 2] });
    const b = await aProcess("b", { order: [1] });
    const c = await aProcess("c", { order: [2, 3, 1] });
    await a.arm(noon + 2 * minuteMs);
    await pass(5 * minuteMs);
    expect([b.rings, c.rings]).toEqual([[], [125]]);
  });

  test("is armed in one that carries less where there is no other, until there is one", async () => {
    const a = await aProcess("a", { order: [1], mail: [1] });
    const b = await aProcess("b", { order: [2], mail: [1] });
    await a.arm(noon + 2 * minuteMs);
    await a.arm(noon + 20 * minuteMs);
    await pass(5 * minuteMs);
    expect(b.rings).toEqual([125]);
    const c = await aProcess("c", { order: [1, 2], mail: [1] });
    await pass(minuteMs);
    a.kill();
    b.kill();
    await pass(20 * minuteMs);
    expect(c.rings).toContain(1_205);
  });

  test("gets another place once the process answers that did not take it", async () => {
    const a = await aProcess("a", { order: [1], mail: [1] });
    const b = await aProcess("b", { order: [2], mail: [1] });
    const c = await aProcess("c", { order: [1], mail: [1] });
    cut = new Set(["a c"]);
    await a.arm(noon + 20 * minuteMs);
    cut = new Set();
    await pass(30_000);
    a.kill();
    b.kill();
    await pass(20 * minuteMs);
    expect(c.rings).toContain(1_205);
  });

  test("waits for no answer of a process that is dead, once that is known", async () => {
    const [a, b, c] = [await aProcess("a"), await aProcess("b"), await aProcess("c")];
    b.kill();
    calls = [];
    await a.arm(noon + 2 * minuteMs);
    await a.arm(noon + 3 * minuteMs);
    expect(calls).toEqual(["a b 1", "a c 1", "a c 1"]);
    await pass(5 * minuteMs);
    expect(c.rings).toEqual(expect.arrayContaining([125, 185]));
  });
});

describe("a process whose neighbour has died", () => {
  test("knows it after two pings without an answer, and looks for what is ready soon", async () => {
    const [a, b] = [await aProcess("a"), await aProcess("b")];
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
    const [a, b, c] = [await aProcess("a"), await aProcess("b"), await aProcess("c")];
    await a.arm(noon + 20 * minuteMs);
    await b.arm(noon + 30 * minuteMs);
    b.kill();
    await pass(minuteMs);
    a.kill();
    await pass(40 * minuteMs);
    expect(c.rings).toEqual(expect.arrayContaining([1_205, 1_805]));
  });

  test("gives it to the next process that begins", async () => {
    const [a, b] = [await aProcess("a"), await aProcess("b")];
    await b.arm(noon + 20 * minuteMs);
    b.kill();
    await pass(10 * minuteMs);
    const c = await aProcess("c");
    await pass(1_000);
    a.kill();
    await pass(20 * minuteMs);
    expect(c.rings).toContain(1_205);
  });

  test("looks once a minute until it has struck that one from the list", async () => {
    await aProcess("a");
    const b = await aProcess("b");
    await pass(minuteMs);
    b.kill();
    lists = [];
    await pass(60 * minuteMs);
    expect(lists).toEqual(["a 100", "a 160", "a 220", "a 280"]);
    expect([...listed.keys()]).toEqual(["a"]);
  });
});

describe("two processes that cannot reach each other", () => {
  test("look once a minute each and strike nobody, until they can", async () => {
    const [a, b] = [await aProcess("a"), await aProcess("b")];
    cut = new Set(["a b", "b a"]);
    lists = [];
    await pass(10 * minuteMs); // they were listed just now, so the first look writes nothing
    expect(lists.filter((each) => each.startsWith("a"))).toHaveLength(9);
    expect(lists.filter((each) => each.startsWith("b"))).toHaveLength(9);
    expect([...listed.keys()].sort()).toEqual(["a", "b"]);
    await a.arm(now() + 20 * minuteMs);
    cut = new Set();
    await pass(minuteMs);
    lists = [];
    await pass(10 * minuteMs);
    expect(lists).toEqual([]);
    a.kill();
    await pass(20 * minuteMs);
    expect(b.rings.at(-1)).toBe(30 * 60 + 5);
  });
});

test("a process without any other one rings by itself", async () => {
  const a = await aProcess("a");
  await a.arm(noon + 90_000);
  await pass(60 * minuteMs);
  expect([a.rings, calls]).toEqual([[90], []]);
});

test("a process that ticks often is listed once an hour", async () => {
  const a = await aProcess("a");
  for (let minute = 0; minute < 120; minute += 1) {
    await pass(minuteMs);
    await a.tick();
  }
  expect(lists).toEqual(["a 0", "a 3600", "a 7200"]);
});

test("processes that all answer ask nothing of the database, and each is asked every 20 seconds", async () => {
  for (const name of ["a", "b", "c"]) await aProcess(name);
  [lists, calls] = [[], []];
  await pass(24 * 60 * minuteMs);
  expect(lists).toEqual([]);
  expect(calls.slice(0, 6).sort()).toEqual(["a b", "a b", "b c", "b c", "c a", "c a"]);
  expect(calls).toHaveLength((3 * 24 * 60 * minuteMs) / 20_000);
});

test("whom a message is not for refuses it, so that a load balancer passes for nobody's neighbour", async () => {
  const a = await aProcess("a", undefined, "balancer");
  const b = await aProcess("b", undefined, "balancer");
  await b.arm(noon + 2 * minuteMs);
  await pass(minuteMs);
  expect(b.reports).toEqual([expect.stringContaining("the message is for another process than this one")]);
  expect(a.rings).toEqual([]);
});

describe("a process that ends", () => {
  test("has all that stands ring in two that stay", async () => {
    const [a, b, c] = [await aProcess("a"), await aProcess("b"), await aProcess("c")];
    const d = await aProcess("d");
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
    const [a, b] = [await aProcess("a"), await aProcess("b")];
    cut = new Set(["a b"]);
    await a.arm(noon + 2 * minuteMs);
    cut = new Set();
    await a.end();
    await pass(5 * minuteMs);
    expect(b.rings).toEqual([125]);
  });

  test("has one of them look at once, and is missed by nobody", async () => {
    const [a, b, c] = [await aProcess("a"), await aProcess("b"), await aProcess("c")];
    await pass(minuteMs);
    await a.end();
    expect([b.looks, c.looks]).toEqual([[60], []]);
    lists = [];
    await pass(60 * minuteMs);
    expect([lists, b.reports, c.reports]).toEqual([[], [], []]);
    expect([...listed.keys()].sort()).toEqual(["b", "c"]);
  });

  test("arms what it needs in two that stay, and not by its own timers", async () => {
    const [a, b, c] = [await aProcess("a"), await aProcess("b"), await aProcess("c")];
    await a.neighbours.handOver();
    await a.arm(noon + 2 * minuteMs);
    await pass(5 * minuteMs);
    expect([a.rings, b.rings, c.rings]).toEqual([[], [125], [125]]);
  });

  test("takes nothing any more from others, who find another place", async () => {
    const [a, b, c] = [await aProcess("a"), await aProcess("b"), await aProcess("c")];
    cut = new Set(["b a"]); // so a does not hear that b ends
    await b.neighbours.handOver();
    await a.arm(noon + 2 * minuteMs);
    await pass(5 * minuteMs);
    expect([b.rings, c.rings]).toEqual([[], [125]]);
  });
});
