/** What failed a run, and what came about through the failure. */
import { describe, expect, test } from "vitest";
import { encode } from "../../../src/core/codec/codec.ts";
import { workflow } from "../../../src/core/contract/contract.ts";
import type { Step } from "../../../src/core/contract/step.ts";
import type { Failure } from "../../../src/core/replay/failing.ts";
import { aHandler, type Handled } from "./a-handler.ts";

const broken = { isFailure: true, value: encode({ name: "Error", message: "broken" }) };

function failureOf({ execution }: Handled): Failure {
  if (execution.outcome?.kind !== "threw") throw new Error("the handler has not failed");
  return execution.describeFailure({ thrown: execution.outcome.error });
}

const quiet = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

describe("what failed a run", () => {
  test("is the record whose error it threw", async () => {
    const handled = await aHandler(async (step) => {
      await step.run("a", () => 1);
      await step.run("b", () => 1);
    });
    await handled.hand("a", 1);
    await handled.hand("b", undefined, broken);
    expect(failureOf(handled)).toEqual({ at: 2, timeouts: [], lost: [], repeats: [], children: [] });
  });

  test("is found through causes, and the first of an aggregate", async () => {
    const handled = await aHandler(async (step) => {
      const cause = await quiet(Promise.any(["a", "b"].map((name) => step.run(name, () => 1))));
      throw new Error("neither", { cause });
    });
    await handled.hand("b", undefined, broken);
    await handled.hand("a", undefined, broken);
    expect(failureOf(handled).at).toBe(1);
  });

  test("is none of the records where the handler throws an error of its own, or causes itself", async () => {
    const handled = await aHandler(async (step) => {
      await quiet(step.run("a", () => 1));
      const error = new Error("mine");
      error.cause = error;
      throw error;
    });
    await handled.hand("a", undefined, broken);
    expect(failureOf(handled)).toEqual({ timeouts: [], lost: [], repeats: [], children: [] });
  });

  test("may be a wait that timed out, and later ones that threw are told", async () => {
    const handled = await aHandler(async (step) => {
      const waits = [
        step.waitForSignal("go", { timeout: "1 hour" }),
        step.waitForSignal("item", { timeout: "1 hour" }),
        step.waitForSignal("item", { timeout: "1 hour", onTimeout: "null" }),
      ];
      const [first] = await Promise.allSettled(waits);
      if (first?.status === "rejected") throw first.reason;
    });
    for (const place of ["go", "item", "item#2"]) await handled.hand(place, undefined, { value: null });
    expect(failureOf(handled)).toMatchObject({ at: 1, timeouts: [2], repeats: [] });
  });

  test("tells the steps whose results are lost", async () => {
    const lost = { isFailure: true, value: encode({ name: "Error", message: "gone", code: "result_lost" }) };
    const handled = await aHandler(async (step) => {
      await step.run("a", () => 1);
    });
    await handled.hand("a", undefined, lost);
    expect(failureOf(handled).lost).toEqual([1]);
  });
});

describe("a callback that was made after the failure", () => {
  const aCallback = (step: Step) => void step.createCallback("approval");

  test("is told, once, if the failure led to it", async () => {
    const handled = await aHandler(async (step) => {
      try {
        await step.run("a", () => 1);
      } catch (error) {
        await quiet(step.createCallback("approval").wait({ timeout: "1 hour", onTimeout: "null" }));
        throw error;
      }
    });
    await handled.hand("a", undefined, broken);
    await handled.hand("approval", "yes");
    expect(failureOf(handled).repeats).toEqual([{ path: "approval", occurrence: 1 }]);
  });

  test("is told also where nobody waits for its answer", async () => {
    const handled = await aHandler(async (step) => {
      try {
        await step.run("a", () => 1);
      } finally {
        aCallback(step);
      }
    });
    await handled.hand("a", undefined, broken);
    expect(failureOf(handled).repeats).toEqual([{ path: "approval", occurrence: 1 }]);
  });

  test("is kept if it was made before, or in an item of a map in which nothing failed", async () => {
    const handled = await aHandler(async (step) => {
      aCallback(step);
      const items = await step.mapSettled("m", [0, 1], async (_, { step: ofItem }) => {
        await ofItem.run("a", () => 1);
        ofItem.createCallback("approval");
      });
      for (const item of items) if (item.status === "rejected") throw item.reason;
    });
    await handled.hand("m[0]/a", undefined, broken);
    await handled.hand("m[1]/a", 1);
    expect(failureOf(handled)).toMatchObject({ at: 1, repeats: [] });
  });
});

describe("a success after the failure", () => {
  test("is independent if the handler had asked for it before", async () => {
    const handled = await aHandler(async (step) => {
      const [a] = await Promise.allSettled(["a", "b"].map((name) => step.run(name, () => 1)));
      if (a?.status === "rejected") throw a.reason;
    });
    await handled.hand("a", undefined, broken);
    await handled.hand("b", 1);
    expect(failureOf(handled).repeats).toEqual([]);
  });

  test("is independent in an item of a map, also in its later steps, if nothing failed there", async () => {
    const handled = await aHandler(async (step) => {
      const items = await step.mapSettled("m", [0, 1], async (_, { step }) => {
        await step.run("a", () => 1);
        await step.run("b", () => 1);
      });
      for (const item of items) if (item.status === "rejected") throw item.reason;
    });
    await handled.hand("m[0]/a", undefined, broken);
    await handled.hand("m[1]/a", 1);
    await handled.hand("m[1]/b", 1);
    expect(failureOf(handled).repeats).toEqual([]);
  });

  test("is not independent in an item of a map in which the failure lies", async () => {
    const handled = await aHandler(async (step) => {
      const items = await step.mapSettled("m", [0, 1], async (_, { step }) => {
        const failed = quiet(step.run("x", () => 1));
        await step.run("a", () => 1);
        await step.run("b", () => 1);
        const error = await Promise.race([failed, "none"]);
        if (error !== "none") throw error;
      });
      for (const item of items) if (item.status === "rejected") throw item.reason;
    });
    await handled.hand("m[0]/x", undefined, broken);
    for (const place of ["m[0]/a", "m[1]/a", "m[0]/b", "m[1]/b"]) await handled.hand(place, 1);
    expect(failureOf(handled)).toMatchObject({ at: 1, repeats: [{ path: "m[0]/b", occurrence: 1 }] });
  });

  test("is not independent in a map that was begun after the failure", async () => {
    const handled = await aHandler(async (step) => {
      const failed = quiet(step.run("x", () => 1));
      await step.run("go", () => 1);
      await step.map("m", [0], async (_, { step }) => {
        await step.run("a", () => 1);
        await step.run("b", () => 1);
      });
      throw await failed;
    });
    await handled.hand("x", undefined, broken);
    for (const place of ["go", "m[0]/a", "m[0]/b"]) await handled.hand(place, 1);
    expect(failureOf(handled)).toMatchObject({
      at: 1,
      repeats: ["m[0]/a", "m[0]/b"].map((path) => ({ path, occurrence: 1 })),
    });
  });

  test("is not independent if the failure led to it", async () => {
    const handled = await aHandler(async (step) => {
      try {
        await step.run("a", () => 1);
      } catch (error) {
        await step.run("apology", () => 1);
        throw error;
      }
    });
    await handled.hand("a", undefined, broken);
    await handled.hand("apology", 1);
    expect(failureOf(handled).repeats).toEqual([{ path: "apology", occurrence: 1 }]);
  });

  // The flow of `first` asks for the first `b` only since it failed. Without that, the second `b` would be another flow's.
  test("is not independent where its number depends on a failure that is forgotten", async () => {
    const handled = await aHandler(async (step) => {
      const failed = quiet(step.run("x", () => 1));
      const go = step.run("go", () => 1);
      void quiet(step.run("first", () => 1)).then(() => step.run("b", () => 1));
      for (const _ of [1, 2]) void go.then(() => step.run("b", () => 1));
      await step.run("gate", () => 1);
      throw await failed;
    });
    await handled.hand("x", undefined, broken);
    await handled.hand("first", undefined, broken);
    await handled.hand("go", 1);
    await handled.hand("b#2", 1);
    await handled.hand("gate", 1);
    expect(failureOf(handled).repeats).toEqual([{ path: "b", occurrence: 2 }]);
  });

  test("is not independent in an item of a map that has waited for the failure", async () => {
    const handled = await aHandler(async (step) => {
      const failed = quiet(step.run("x", () => 1));
      await step.map("m", [0], async (_, { step }) => {
        await failed;
        await step.run("b", () => 1);
      });
      throw await failed;
    });
    await handled.hand("x", undefined, broken);
    await handled.hand("m[0]/b", 1);
    expect(failureOf(handled).repeats).toEqual([{ path: "m[0]/b", occurrence: 1 }]);
  });
});

describe("the runs for which it would wait again", () => {
  const child = workflow({ name: "child", version: 1 });
  const idOf = ({ find }: Handled, place: string) => {
    const { wanted } = find(place);
    if (wanted.kind !== "child") throw new Error(`${place} asks for no run`);
    return wanted.runId(undefined).slice(-21);
  };

  test("are those that are not over, and those whose failures are forgotten", async () => {
    const handled = await aHandler(async (step) => {
      await quiet(step.invoke("caught", child));
      const all = ["a", "b", "c", "d"].map((name) => step.invoke(name, child));
      const [a] = await Promise.allSettled([...all.slice(0, 3), step.run("e", () => 1)]);
      if (a?.status === "rejected") throw a.reason;
    });
    await handled.hand("caught", undefined, broken);
    const [a, b, , d] = ["a", "b", "c", "d"].map((place) => idOf(handled, place));
    await handled.hand("a", undefined, broken);
    await handled.hand("b", undefined, broken);
    await handled.hand("e", undefined, broken);
    await handled.hand("c", 1);
    expect(failureOf(handled)).toMatchObject({ at: 2, children: [a, b, d] });
  });

  test("are all that are not over where an error of the handler's own failed it", async () => {
    const handled = await aHandler(async (step) => {
      const all = ["a", "b"].map((name) => quiet(step.invoke(name, child)));
      await all[0];
      throw new Error("mine");
    });
    const b = idOf(handled, "b");
    await handled.hand("a", undefined, broken);
    expect(failureOf(handled).children).toEqual([b]);
  });

  test("are losers of races only where what decided the race is forgotten", async () => {
    const handled = await aHandler(async (step) => {
      const race = (name: string, decider: string) =>
        step.race(name, [({ step }) => step.invoke("it", child), ({ step }) => step.run(decider, () => 1)]);
      const first = quiet(race("first", "a"));
      const second = race("second", "b");
      const third = race("third", "c");
      await first;
      const [ended] = await Promise.allSettled([second, third]);
      if (ended.status === "rejected") throw ended.reason;
    });
    const second = idOf(handled, "second[0]/it");
    await handled.hand("first[1]/a", undefined, broken);
    await handled.hand("second[1]/b", undefined, broken);
    await handled.hand("third[1]/c", 1);
    expect(failureOf(handled)).toMatchObject({ at: 2, children: [second] });
  });
});
