import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { TurnRef } from "../../src/core/ports.ts";
import { QueueDispatch, type QueueMessage } from "../../src/platform/cloudflare/queue/queue-dispatch.ts";
import { hostClock } from "../../src/postgres/host-clock.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A queue that takes what it gets, and a delivery that carries out some steps itself. */
class Sent {
  readonly batches: (readonly QueueMessage[])[] = [];
  readonly here: { runs: string[]; maxSteps: number }[] = [];
  readonly errors: string[] = [];
  readonly refused: string[] = [];
  isRefusing = false;
  isSilent = false;
  isClaimed = true;
  isOpen = true;
  readonly dispatch: QueueDispatch;

  constructor(steps?: number) {
    this.dispatch = new QueueDispatch({
      queue: {
        sendBatch: async (messages: Iterable<QueueMessage>) => {
          if (this.isRefusing) throw new Error("Too Many Requests");
          if (this.isSilent) await new Promise(() => {});
          this.batches.push([...messages]);
        },
      },
      onRefused: (turns) => this.refused.push(...turns.map(({ runId }) => runId)),
      here: steps === undefined ? undefined : { steps, isOpen: () => this.isOpen, carryOut: this.#carryOut },
      onError: (error) => this.errors.push(String(error)),
      host: hostClock,
    });
  }

  readonly #carryOut = async (turns: readonly TurnRef[], maxSteps: number): Promise<boolean> => {
    this.here.push({ runs: turns.map(({ runId }) => runId), maxSteps });
    return this.isClaimed;
  };

  get runs(): string[][] {
    return this.batches.map((batch) => batch.map(({ body }) => body.runId));
  }

  async moment(): Promise<void> {
    await vi.advanceTimersByTimeAsync(0);
    await this.dispatch.settled();
  }
}

const turns = (...runIds: readonly string[]): TurnRef[] => runIds.map((runId) => ({ runId, turn: 1 }));
const many = (count: number) => turns(...Array.from({ length: count }, (_, index) => `${index}`));

test("what is dispatched in the same moment goes together, a message each", async () => {
  const sent = new Sent();
  await sent.dispatch.dispatch(turns("a"), 0);
  await sent.dispatch.dispatch(turns("b", "c"), 0);
  await sent.moment();
  await sent.dispatch.dispatch(turns("d"), 0);
  await sent.moment();
  expect(sent.runs).toEqual([["a", "b", "c"], ["d"]]);
  expect(sent.batches[0]?.[0]).toEqual({ body: { runId: "a", turn: 1 } });
});

test("a batch is a hundred messages at most, and less of long paths", async () => {
  const sent = new Sent();
  await sent.dispatch.dispatch(many(250), 0);
  await sent.moment();
  expect(sent.batches.map(({ length }) => length)).toEqual([100, 100, 50]);
  const long = many(30).map((turn) => ({ ...turn, branch: { path: "ß".repeat(8_000), occurrence: 1 } }));
  await sent.dispatch.dispatch(long, 0);
  await sent.moment();
  const sizes = sent.batches.slice(3).map((batch) => Buffer.byteLength(JSON.stringify(batch)));
  expect(sizes).toHaveLength(3);
  for (const bytes of sizes) expect(bytes).toBeLessThan(256_000);
});

test("a short wait is a delayed message, in begun seconds; one of more than a day is the alarm's", async () => {
  const sent = new Sent();
  await sent.dispatch.dispatch(turns("a"), 1_001);
  await sent.dispatch.dispatch(turns("b"), 24 * 3_600_000);
  await sent.dispatch.dispatch(turns("c"), 24 * 3_600_000 + 1);
  await sent.moment();
  expect(sent.batches.flat().map(({ body, delaySeconds }) => [body.runId, delaySeconds])).toEqual([
    ["a", 2],
    ["b", 86_400],
  ]);
});

test("a queue that refuses is reported, and what was sent to it is known to be lost", async () => {
  const sent = new Sent();
  sent.isRefusing = true;
  await sent.dispatch.dispatch(many(101), 0);
  const settled = sent.dispatch.settled();
  await vi.advanceTimersByTimeAsync(2_000);
  await settled;
  expect([sent.errors, sent.dispatch.isWhole]).toEqual([
    ["Error: Too Many Requests", "Error: Too Many Requests"],
    false,
  ]);
  expect(sent.refused).toEqual(many(101).map(({ runId }) => runId));
});

test("what no message can hold is reported, and never asked for, as the queue would refuse others with it", async () => {
  const sent = new Sent();
  const long = turns("b").map((turn) => ({ ...turn, branch: { path: "ß".repeat(64_000), occurrence: 1 } }));
  await sent.dispatch.dispatch([...turns("a"), ...long, ...turns("c")], 0);
  await sent.moment();
  expect([sent.runs, sent.refused, sent.dispatch.isWhole]).toEqual([[["a", "c"]], [], true]);
  expect(sent.errors).toEqual([expect.stringContaining("too long for a message")]);
});

test("a queue that refuses for a moment is asked again", async () => {
  const sent = new Sent();
  sent.isRefusing = true;
  await sent.dispatch.dispatch(turns("a"), 0);
  const settled = sent.dispatch.settled();
  await vi.advanceTimersByTimeAsync(500);
  sent.isRefusing = false;
  await vi.advanceTimersByTimeAsync(1_000);
  await settled;
  expect([sent.runs, sent.errors, sent.dispatch.isWhole]).toEqual([[["a"]], [], true]);
});

test("a delivery carries out what follows, as many steps as it has left, and sends the rest", async () => {
  const sent = new Sent(9);
  await sent.dispatch.dispatch(turns("a", "b"), 0);
  await sent.moment();
  await sent.dispatch.dispatch(turns("c", "d"), 0);
  await sent.moment();
  await sent.dispatch.dispatch(turns("e"), 0);
  await sent.moment();
  expect(sent.here).toEqual([
    { runs: ["a", "b"], maxSteps: 4 },
    { runs: ["e"], maxSteps: 1 },
  ]);
  expect(sent.runs).toEqual([["c", "d"]]);
});

test("a branch's turn is one of the delivery's steps, so what follows it has the others", async () => {
  const sent = new Sent(9);
  const branch = { path: "ship[1]/send", occurrence: 1 };
  await sent.dispatch.dispatch([...turns("a", "b").map((turn) => ({ ...turn, branch })), ...turns("c")], 0);
  await sent.moment();
  expect(sent.here).toEqual([{ runs: ["a", "b", "c"], maxSteps: 7 }]);
  const next = new Sent(9);
  await next.dispatch.dispatch(
    turns("a", "b").map((turn) => ({ ...turn, branch })),
    0,
  );
  await next.moment();
  await next.dispatch.dispatch(turns("a"), 0);
  await next.moment();
  expect(next.here.at(-1)).toEqual({ runs: ["a"], maxSteps: 7 });
});

test("what waits, what goes alone, and what comes late is sent, and nothing else is kept from it", async () => {
  const sent = new Sent(9);
  await sent.dispatch.dispatch(turns("a"), 1_000);
  await sent.moment();
  await sent.dispatch.dispatch([{ runId: "b", turn: 1, alone: true }], 0);
  await sent.moment();
  sent.isOpen = false;
  await sent.dispatch.dispatch(turns("c"), 0);
  await sent.moment();
  expect([sent.here, sent.runs]).toEqual([[], [["a"], ["b"], ["c"]]]);
});

test("what could not be claimed here is sent", async () => {
  const sent = new Sent(9);
  sent.isClaimed = false;
  await sent.dispatch.dispatch(turns("a"), 0);
  await sent.moment();
  expect(sent.runs).toEqual([["a"]]);
});

test("a queue that never answers holds up nobody for longer than the runtime waits, and counts as refusing", async () => {
  const sent = new Sent();
  sent.isSilent = true;
  await sent.dispatch.dispatch(turns("a"), 0);
  await vi.advanceTimersByTimeAsync(29_000);
  await sent.dispatch.settled();
  expect(sent.refused).toEqual(["a"]);
  expect(sent.dispatch.isWhole).toBe(false);
  expect(sent.errors).toEqual(["Error: the queue did not answer within 8 seconds"]);
});
