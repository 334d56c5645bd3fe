/** How turns get to the function `turns` on AWS. */
import { beforeEach, expect, test } from "vitest";
import type { TurnRef } from "../../src/core/ports.ts";
import { pause } from "../../src/core/waits.ts";
import { InvokeDispatch } from "../../src/platform/lambda/invoke-dispatch.ts";
import { SkewedTimers } from "../engine/timers.ts";

const host = new SkewedTimers({ time: () => time });
let time = 0;
let invoked: { readonly turns: readonly TurnRef[]; readonly armed: readonly string[] }[];
let calls: { readonly body: string; readonly delaySeconds: number }[][];
let refused: TurnRef[];
let here: TurnRef[][];
let isRefusing: boolean;

beforeEach(() => {
  [invoked, calls, refused, here] = [[], [], [], []];
  isRefusing = false;
});

/** `during`: how long it carries out turns itself. */
function dispatcher({
  steps = 0,
  until = Number.POSITIVE_INFINITY,
  batch = 10,
  during = Promise.resolve(),
} = {}): InvokeDispatch {
  return new InvokeDispatch({
    host,
    here: {
      carryOut: async (turns) => {
        here.push([...turns]);
        await during;
        return true;
      },
      steps,
      isOpen: () => true,
    },
    until: () => until,
    onRefused: (turns) => refused.push(...turns),
    onError: () => {},
    services: {
      invoke: async (_, event) => {
        if (isRefusing) throw new Error("refused");
        invoked.push(JSON.parse(event));
      },
      send: async (_, messages) => {
        calls.push([...messages]);
        return isRefusing ? [0] : [];
      },
    },
    turns: "turns",
    queueUrl: () => "https://queue.example",
    batch,
    armed: () => ["29345678:0"],
  });
}

/** Lets everything happen that was dispatched. */
async function settle(made: InvokeDispatch): Promise<void> {
  let isOver = false;
  const over = made.settled().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await new Promise((resolve) => setImmediate(resolve));
    time = host.next ?? time;
    host.fire();
  }
  await over;
}

function turns(count: number, more: Partial<TurnRef> = {}): TurnRef[] {
  return Array.from({ length: count }, () => ({ runId: crypto.randomUUID(), turn: 1, ...more }));
}

test("turns of one moment go together, ten in an invocation, each with what its sender has armed", async () => {
  const made = dispatcher();
  for (const turn of turns(25)) await made.dispatch([turn], 0);
  await settle(made);
  expect(invoked.map(({ turns }) => turns.length)).toEqual([10, 10, 5]);
  expect(invoked[0]?.armed).toEqual(["29345678:0"]);
});

test("turns that are long go in events of at most 200,000 bytes", async () => {
  const branch = { path: "x".repeat(2_000), occurrence: 1 };
  const made = dispatcher({ batch: 1_000 });
  await made.dispatch(turns(300, { branch }), 0);
  await settle(made);
  expect(invoked.length).toBe(4);
  expect(Math.max(...invoked.map((event) => JSON.stringify(event).length))).toBeLessThan(200_200);
  expect(invoked.flatMap(({ turns }) => turns)).toHaveLength(300);
});

test("turns that may have ended their process go apart from others", async () => {
  const made = dispatcher();
  await made.dispatch([...turns(3), ...turns(2, { alone: true }), ...turns(5, { groupSize: 4 })], 0);
  await settle(made);
  expect(invoked.map(({ turns }) => turns.length).toSorted()).toEqual([1, 1, 1, 3, 4]);
});

test("a turn for later is a message with its delay, rounded up", async () => {
  const made = dispatcher();
  await made.dispatch(turns(1), 1_001);
  await settle(made);
  expect(calls.flat().map(({ delaySeconds }) => delaySeconds)).toEqual([2]);
  expect(invoked).toEqual([]);
});

test("ten messages go in one call", async () => {
  const made = dispatcher({ batch: 1 });
  await made.dispatch(turns(25), 5_000);
  await settle(made);
  expect(calls.map((messages) => messages.length)).toEqual([10, 10, 5]);
});

test("a wait of less than a second is waited for, and one of more than 15 minutes left to the alarm", async () => {
  const made = dispatcher();
  const begun = time;
  await made.dispatch(turns(1), 900);
  await made.dispatch(turns(1), 15 * 60_000 + 1);
  await settle(made);
  expect([invoked.length, calls.length]).toEqual([1, 0]);
  expect(time - begun).toBeGreaterThanOrEqual(900);
});

test("a delivery carries out what follows itself, as long as it has steps", async () => {
  const made = dispatcher({ steps: 3 });
  await made.dispatch(turns(2), 0);
  await settle(made);
  await made.dispatch(turns(2), 0);
  await settle(made);
  expect([here.map((some) => some.length), invoked.map(({ turns }) => turns.length)]).toEqual([[2], [2]]);
});

test("a turn for later goes out beside what a delivery carries out itself, and so does not wait for its end", async () => {
  const body = Promise.withResolvers<void>();
  const made = dispatcher({ steps: 3, during: body.promise });
  await made.dispatch(turns(1), 0);
  await made.dispatch(turns(1), 20_000);
  const settled = settle(made);
  await expect.poll(() => here.length).toBe(1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(calls.flat().map(({ delaySeconds }) => delaySeconds)).toEqual([20]);
  body.resolve();
  await settled;
  expect([calls.length, invoked.length]).toEqual([1, 0]);
});

test("what AWS refuses is told, whether it was for now or for later", async () => {
  isRefusing = true;
  const made = dispatcher();
  await made.dispatch(turns(2), 0);
  await made.dispatch(turns(1), 5_000);
  await settle(made);
  expect(refused).toHaveLength(3);
  expect(made.isWhole).toBe(false);
});

test("nothing is dispatched after the end of the invocation's time, and that is told", async () => {
  const made = dispatcher({ until: time });
  await made.dispatch(turns(2), 0);
  await settle(made);
  expect([refused.length, invoked.length, made.isWhole]).toEqual([2, 0, false]);
});

test("at most forty calls are under way at a time", async () => {
  let [open, most] = [0, 0];
  const slow = new InvokeDispatch({
    host,
    until: () => Number.POSITIVE_INFINITY,
    onRefused: () => {},
    onError: () => {},
    here: { carryOut: async () => false, steps: 0, isOpen: () => false },
    services: {
      invoke: async () => {
        open += 1;
        most = Math.max(most, open);
        await pause(host, 10);
        open -= 1;
      },
      send: async () => [],
    },
    turns: "turns",
    queueUrl: () => "",
    batch: 1,
    armed: () => [],
  });
  await slow.dispatch(turns(200), 0);
  await settle(slow);
  expect(most).toBe(40);
});
