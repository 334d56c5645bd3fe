/** A failed run that goes on: its failures are forgotten, and every success is kept. */
import { workflow } from "layover";
import { expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { World } from "./world.ts";

const database = testDatabase();
const once = { retry: { maxAttempts: 1 } };
const tried = workflow({ name: "tried", version: 1, signals: { go: z.string(), stop: z.string() } });
type Handle = Parameters<typeof tried.handler>[0];

/** Bodies that fail while their name is in `broken`, and what was called with which key. */
function bench() {
  const broken = new Set<string>();
  const calls: string[] = [];
  const keys = new Map<string, Set<string>>();
  const act =
    (name: string) =>
    ({ idempotencyKey }: { readonly idempotencyKey: string }): string => {
      calls.push(name);
      keys.set(name, (keys.get(name) ?? new Set()).add(idempotencyKey));
      if (broken.has(name)) throw new Error(`${name} is broken`);
      return name.toUpperCase();
    };
  return { broken, calls, keys, act };
}

async function failed(handle: Handle, options: { readonly seed?: number } = {}) {
  const world = await World.begin(database, { ...options, workflows: [tried.handler(handle)] });
  const run = await world.start(tried);
  expect(await world.run(run)).toMatchObject({ status: "failed" });
  return { world, run };
}

test("a retry carries out the step that failed again, with its old key, and nothing that succeeded", async () => {
  const { broken, calls, keys, act } = bench();
  broken.add("b");
  const { world, run } = await failed(async ({ step }) => {
    const a = await step.run("a", act("a"), once);
    const b = await step.run("b", act("b"), once);
    return [a, b, await step.run("c", act("c"), once)];
  });
  broken.clear();
  expect(await world.ask((client) => client.retry(run.runId, { by: "ada" }))).toEqual({
    runId: run.runId,
    outcome: "retried",
    epoch: 1,
    kept: 1,
    dropped: 1,
  });
  expect(await world.run(run)).toMatchObject({ status: "completed", result: ["A", "B", "C"], epoch: 1 });
  expect(calls).toEqual(["a", "b", "b", "c"]);
  expect(keys.get("b")?.size).toBe(1);
});

test("a retry finds the record that failed the run through causes and aggregates", async () => {
  const { broken, calls, act } = bench();
  for (const name of ["a", "b"]) broken.add(name);
  const { world, run } = await failed(async ({ step }) => {
    await step.run("first", act("first"), once);
    try {
      await Promise.any([step.run("a", act("a"), once), step.run("b", act("b"), once)]);
    } catch (error) {
      throw new Error("neither", { cause: error });
    }
  });
  broken.clear();
  calls.length = 0;
  expect(await world.ask((client) => client.retry(run.runId))).toMatchObject({ kept: 1, dropped: 2 });
  expect(await world.run(run)).toMatchObject({ status: "completed" });
  expect(calls.toSorted()).toEqual(["a", "b"]);
});

test("of a map whose item failed the items that succeeded are kept, also those that came after", async () => {
  const { broken, calls, act } = bench();
  broken.add("2");
  const { world, run } = await failed(async ({ step }) =>
    step.map("ship", ["0", "1", "2", "3", "4"], async (item, { step }) => {
      const packed = await step.run("pack", act(item), once);
      return [packed, await step.run("send", act(`send ${item}`), once)];
    }),
  );
  broken.clear();
  const before = [...calls];
  await world.ask((client) => client.retry(run.runId));
  expect(await world.run(run)).toMatchObject({ status: "completed" });
  const again = calls.slice(before.length);
  expect(again).toContain("2");
  for (const name of again) if (name !== "2") expect(before.filter((one) => one === name).length).toBeLessThan(2);
});

test("a run whose handler itself threw keeps all its records", async () => {
  const { calls, act } = bench();
  const state = { isBroken: true };
  const { world, run } = await failed(async ({ step }) => {
    await step.run("a", act("a"), once);
    await step.run("b", act("b"), once);
    if (state.isBroken) throw new Error("a mistake");
    return "mended";
  });
  state.isBroken = false;
  expect(await world.ask((client) => client.retry(run.runId))).toMatchObject({ kept: 2, dropped: 0 });
  expect(await world.run(run)).toMatchObject({ status: "completed", result: "mended" });
  expect(calls).toEqual(["a", "b"]);
});

test("a retry keeps failures and timeouts that were caught before the step that failed the run", async () => {
  const { broken, calls, act } = bench();
  broken.add("a").add("c");
  const { world, run } = await failed(async ({ step }) => {
    const a = await step.run("a", act("a"), once).catch(() => "caught");
    const go = await step.waitForSignal("go", { timeout: "1 hour" }).catch(() => "too late");
    const b = await step.run("b", act("b"), once);
    return [a, go, b, await step.run("c", act("c"), once)];
  });
  broken.clear();
  expect(await world.ask((client) => client.retry(run.runId))).toMatchObject({ kept: 3, dropped: 1 });
  expect(await world.run(run)).toMatchObject({ status: "completed", result: ["caught", "too late", "B", "C"] });
  expect(calls).toEqual(["a", "b", "c", "c"]);
});

test("a wait that timed out by throwing is waited for again, for its whole time", async () => {
  const { world, run } = await failed(async ({ step }) => step.waitForSignal("go", { timeout: "1 day" }));
  await world.pass("40 days");
  await world.ask((client) => client.retry(run.runId));
  await world.pass("23 hours");
  expect(await world.get(run.runId)).toMatchObject({ status: "waiting" });
  await world.signal(run, tried, "go", "at last");
  expect(await world.run(run)).toMatchObject({ status: "completed", result: "at last" });
});

test("what succeeded because of the failure cannot be kept, so nothing is rewritten", async () => {
  const { broken, act } = bench();
  broken.add("a");
  const { world, run } = await failed(async ({ step }) => {
    try {
      await step.run("a", act("a"), once);
    } catch (error) {
      await step.run("apology", act("apology"), once);
      throw error;
    }
  });
  await expect(world.ask((client) => client.retry(run.runId))).rejects.toMatchObject({
    code: "would_repeat",
    message: "what succeeded or was asked after the failure cannot be kept: apology",
  });
  expect(await world.get(run.runId)).toMatchObject({ status: "failed", epoch: 0 });
});

test("a retry whose kept history the code does not ask for is taken back", async () => {
  const { broken, act } = bench();
  broken.add("a");
  const state = { isOther: false };
  const { world, run } = await failed(async ({ step }) => {
    await step.run(state.isOther ? "another" : "first", act("first"), once);
    await step.run("a", act("a"), once);
  });
  const before = await world.get(run.runId);
  state.isOther = true;
  await world.ask((client) => client.retry(run.runId));
  await world.pass("1 hour");
  expect(await world.get(run.runId)).toMatchObject({ status: "failed", epoch: 0, error: before.error });
  const { operations, records } = await world.history(run);
  expect(operations).toMatchObject([{ verb: "retry", verdict: "would_repeat" }]);
  expect(records.length).toBe(2);
});

test("a step whose result was lost is not carried out again: a person gives its result", async () => {
  let begun = 0;
  const world = await World.begin(database, {
    workflows: [
      tried.handler(async ({ step }) => {
        const a = await step.run(
          "a",
          () => {
            begun += 1;
            return new Promise<string>(() => {});
          },
          { semantics: "at-most-once", timeout: "1 hour" },
        );
        return [a, await step.run("b", () => "B", once)];
      }),
    ],
  });
  const run = await world.start(tried);
  world.fate = ({ what }) => {
    if (what !== "renew_leases" || begun === 0) return "passes";
    world.fate = () => "passes";
    return "dies before";
  };
  expect(await world.run(run)).toMatchObject({ status: "failed", error: { cause: { code: "interrupted" } } });
  await expect(world.ask((client) => client.retry(run.runId))).rejects.toMatchObject({
    code: "result_needed",
    details: { places: "a" },
  });
  await world.ask((client) => client.retry(run.runId, { results: { a: "by hand" } }));
  expect(await world.run(run)).toMatchObject({ status: "completed", result: ["by hand", "B"] });
  expect(begun).toBe(1);
});

test("of a run that was undone only the undos that failed are tried again", async () => {
  const undone: string[] = [];
  const state = { isBroken: true };
  const world = await World.begin(database, {
    workflows: [
      tried.handler(async ({ step }) => {
        for (const name of ["a", "b", "c"])
          await step.run(name, () => name, {
            compensate: {
              run: () => {
                if (name === "b" && state.isBroken) throw new Error("no");
                undone.push(name);
              },
              retry: { maxAttempts: 1 },
            },
          });
        await step.run("d", () => Promise.reject(new Error("no")), once);
      }),
    ],
  });
  const run = await world.start(tried);
  expect(await world.run(run)).toMatchObject({ status: "failed", undos: { owed: 3, done: 3, failed: 1 } });
  expect(undone).toEqual(["c", "a"]);
  state.isBroken = false;
  await world.ask((client) => client.retry(run.runId));
  expect(await world.run(run)).toMatchObject({
    status: "failed",
    error: { message: expect.stringContaining("no") },
    undos: { owed: 3, done: 3, failed: 0 },
  });
  expect(undone).toEqual(["c", "a", "b"]);
  await expect(world.ask((client) => client.retry(run.runId))).rejects.toMatchObject({ code: "compensated" });
});

test("only a run that failed is retried", async () => {
  const world = await World.begin(database, { workflows: [tried.handler(async () => "done")] });
  const run = await world.start(tried);
  await world.run(run);
  await expect(world.ask((client) => client.retry(run.runId))).rejects.toMatchObject({
    code: "not_applicable",
    message: `the run ${run.runId} is completed, so it cannot be retried`,
  });
});

test("a retry with a signal sends it in the same act, once though the call comes twice", async () => {
  const { broken, act } = bench();
  broken.add("quote");
  const { world, run } = await failed(async ({ step }) => {
    const quote = await step.run("quote", act("quote"), once);
    const words: (string | null)[] = [];
    do words.push(await step.waitForSignal("go", { timeout: 0, onTimeout: "null" }));
    while (words.at(-1) !== null);
    return [quote, words];
  });
  broken.clear();
  const callId = world.chance.uuid();
  const correction = { signal: { name: "go", payload: "the right word" }, contract: tried, callId } as const;
  for (let time = 1; time <= 2; time += 1) {
    expect(await world.ask((client) => client.retry(run.runId, correction))).toMatchObject({ outcome: "retried" });
  }
  expect(await world.run(run)).toMatchObject({ status: "completed", result: ["QUOTE", ["the right word", null]] });
});

test("a retry with a signal that the run takes no more changes nothing", async () => {
  const { broken, act } = bench();
  broken.add("quote");
  const { world, run } = await failed(async ({ step }) => {
    await step.close("go");
    return await step.run("quote", act("quote"), once);
  });
  const send = (name: "go" | "stop", payload: string) =>
    world.ask((client) => client.retry(run.runId, { signal: { name, payload }, contract: tried }));
  await expect(send("go", "late")).rejects.toMatchObject({ code: "signal_closed", details: { signal: "go" } });
  expect(await world.get(run.runId)).toMatchObject({ status: "failed", epoch: 0 });
  broken.clear();
  expect(await send("stop", "in time")).toMatchObject({ outcome: "retried" });
  expect(await world.run(run)).toMatchObject({ status: "completed" });
});
