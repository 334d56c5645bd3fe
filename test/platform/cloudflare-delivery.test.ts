import { expect, test } from "vitest";
import type { TurnRef } from "../../src/core/ports.ts";
import { deliver } from "../../src/platform/cloudflare/queue/queue-delivery.ts";

/** A delivery by its messages' bodies, what became of each, and what happened in order. */
class Delivery {
  readonly events: string[] = [];
  readonly errors: string[] = [];
  readonly elsewhere = new Set<TurnRef>();
  /** As the bodies of messages. */
  sent: readonly TurnRef[] = [];
  /** Turns of these runs cannot be claimed, as the database fails. */
  readonly failing = new Set<string>();
  /** Runs of a version that another deployment carries. */
  readonly strangers = new Set<string>();
  /** The queue takes nothing. */
  isRefusing = false;
  readonly #messages: { body: unknown; attempts: number; ack: () => void; retry: (o?: object) => void }[] = [];

  with(body: unknown, attempts = 1): this {
    const name = nameOf(body);
    const ack = () => void this.events.push(`ack ${name}`);
    const retry = (options?: { delaySeconds?: number }) =>
      void this.events.push(`retry ${name} in ${options?.delaySeconds}`);
    this.#messages.push({ body, attempts, ack, retry });
    return this;
  }

  async come({ isOpen = true } = {}): Promise<string[]> {
    await deliver(this.#messages, {
      elsewhere: this.elsewhere,
      carryOut: async (turns) => {
        for (const each of turns) if (this.strangers.has(nameOf(each))) this.elsewhere.add(each);
        this.events.push(`carry out ${turns.map(nameOf).join(" and ")}`);
        return !turns.some((each) => this.failing.has(nameOf(each)));
      },
      settled: async () => void this.events.push("settled"),
      sendAnew: async (turns) => {
        this.events.push(`send ${turns.map(nameOf).join(" and ")}`);
        this.sent = turns;
        return !this.isRefusing;
      },
      isOpen: () => isOpen,
      onError: (error, doing) => this.errors.push(`${doing}: ${String(error)}`),
    });
    return this.events;
  }
}

const names = ["a", "b", "c", "a1", "a2", "a3", "a9"];
/** Runs have names here. */
const idOf = (name: string) => `00000000-0000-7000-8000-${String(names.indexOf(name)).padStart(12, "0")}`;
const turn = (name: string): TurnRef => ({ runId: idOf(name), turn: 1 });
const lone = (name: string): TurnRef => ({ runId: idOf(name), turn: 1, alone: true });

const inGroups = (name: string): TurnRef => ({ runId: idOf(name), turn: 1, groupSize: 2 });

function nameOf(body: unknown): string {
  return typeof body === "object" && body !== null && "runId" in body
    ? (names.find((name) => idOf(name) === body.runId) ?? String(body.runId))
    : "?";
}

test("the turns of a delivery are claimed together, and each message is acknowledged when they are carried out", async () => {
  const events = await new Delivery().with(turn("a")).with(turn("b")).come();
  expect(events).toEqual(["carry out a and b", "ack a", "ack b"]);
});

test("where the database cannot be asked the messages come again, later and later", async () => {
  const delivery = new Delivery();
  for (const attempts of [1, 2, 3, 9]) delivery.with(turn(`a${attempts}`), attempts);
  delivery.failing.add("a1");
  expect((await delivery.come()).slice(1)).toEqual([
    "retry a1 in 10",
    "retry a2 in 20",
    "retry a3 in 40",
    "retry a9 in 600",
  ]);
});

test("what another deployment carries comes again a few times, as that may take it, and is the next tick's then", async () => {
  const delivery = new Delivery().with(turn("b"));
  for (const attempts of [1, 2, 3, 9]) delivery.with(turn(`a${attempts}`), attempts);
  for (const name of ["a1", "a2", "a3", "a9"]) delivery.strangers.add(name);
  expect((await delivery.come()).slice(1)).toEqual([
    "ack b",
    "retry a1 in 10",
    "retry a2 in 20",
    "retry a3 in 40",
    "ack a9",
  ]);
});

test("what goes alone is claimed by itself, when nothing else is at work any more", async () => {
  const events = await new Delivery().with(lone("a")).with(turn("b")).with(lone("c")).come();
  expect(events).toEqual([
    "carry out b",
    "ack b",
    "settled",
    "carry out a",
    "ack a",
    "settled",
    "carry out c",
    "ack c",
  ]);
});

test("what goes in groups is claimed by these, each when nothing else is at work any more", async () => {
  const delivery = new Delivery().with(inGroups("a")).with(turn("b")).with(lone("c"));
  for (const name of ["a1", "a2"]) delivery.with(inGroups(name));
  const events = await delivery.come();
  expect(events.filter((event) => !event.startsWith("ack"))).toEqual([
    "carry out b",
    "settled",
    "carry out a and a1",
    "settled",
    "carry out a2",
    "settled",
    "carry out c",
  ]);
});

test("where messages have come again, those that go alone are sent anew with all their tries", async () => {
  const events = await new Delivery().with(lone("a"), 2).with(turn("b"), 2).with(lone("c")).come();
  expect(events).toEqual(["carry out b", "ack b", "settled", "settled", "send a and c", "ack a", "ack c"]);
});

test("where the database cannot be asked for long they come later and later nevertheless", async () => {
  let bodies: readonly TurnRef[] = [lone("a"), lone("b")];
  const delays: string[] = [];
  for (let round = 1; round <= 8; round += 1) {
    const failing = new Delivery().with(bodies[0]).with(bodies[1]);
    failing.failing.add("a").add("b");
    delays.push(...(await failing.come()).filter((event) => event.startsWith("retry a")));
    const again = new Delivery().with(bodies[0], 2).with(bodies[1], 2);
    await again.come();
    bodies = again.sent;
  }
  expect(delays).toEqual([10, 20, 40, 80, 160, 320, 600, 600].map((seconds) => `retry a in ${seconds}`));
});

test("one that comes again by itself is carried out", async () => {
  expect(await new Delivery().with(lone("a"), 2).come()).toEqual(["settled", "carry out a", "ack a"]);
});

test("what goes alone and has no time left is sent anew", async () => {
  expect(await new Delivery().with(lone("a")).with(lone("b")).come({ isOpen: false })).toEqual([
    "settled",
    "settled",
    "send a and b",
    "ack a",
    "ack b",
  ]);
});

test("a message of somebody else's is reported, and keeps nothing from the others", async () => {
  const delivery = new Delivery().with("hello").with({ runId: 5, turn: 1 }).with(undefined).with(turn("a"));
  expect(await delivery.come()).toEqual(["ack ?", "ack 5", "ack ?", "carry out a", "ack a"]);
  expect(delivery.errors).toHaveLength(3);
  expect(delivery.errors[0]).toBe('delivering: Error: a message of the queue names no turn: "hello"');
});

test("a message that JSON has no form for is reported, and keeps nothing from the others", async () => {
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  const delivery = new Delivery().with(turn("a")).with({ turn: 1n }).with(cycle);
  expect(await delivery.come()).toEqual(["ack ?", "ack ?", "carry out a", "ack a"]);
  expect(delivery.errors).toEqual([
    expect.stringContaining("names no turn: it is no JSON (Do not know how to serialize a BigInt)"),
    expect.stringContaining("names no turn: it is no JSON (Converting circular structure to JSON)"),
  ]);
});

test("what goes alone and cannot be sent anew comes again", async () => {
  const delivery = new Delivery().with(lone("a"), 2).with(turn("b"));
  delivery.isRefusing = true;
  expect((await delivery.come()).slice(-2)).toEqual(["send a", "retry a in 20"]);
});

test.each([
  ["a run's id that is none", { runId: "hello", turn: 1 }],
  ["a turn beyond all numbers", { runId: idOf("b"), turn: 2 ** 40 }],
  ["a branch of which there cannot be so many", { runId: idOf("b"), turn: 1, branch: { path: "x", occurrence: "y" } }],
  ["a group of none", { runId: idOf("b"), turn: 1, groupSize: 0 }],
  ["a number of tries that is none", { runId: idOf("b"), turn: 1, tried: "3" }],
  ["a mark for going alone that is none", { runId: idOf("b"), turn: 1, alone: 1n }],
  ["half a character in a path", { runId: idOf("b"), turn: 1, branch: { path: "\ud800", occurrence: 1 } }],
  ["a path that Postgres cannot read", { runId: idOf("b"), turn: 1, branch: { path: "\u0000", occurrence: 1 } }],
])("%s keeps nothing from the others", async (_, body) => {
  const delivery = new Delivery().with(turn("a")).with(body);
  const events = await delivery.come();
  expect(events.filter((event) => event.endsWith(" a"))).toEqual(["carry out a", "ack a"]);
  expect(delivery.errors).toHaveLength(1);
});
