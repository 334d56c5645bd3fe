/** Stubs: which bodies and undos they stand for, how they are found, and what a misspelt name does. */
import { NonRetryableError, type Step } from "layover";
import { describe, expect, it, vi } from "vitest";
import { orderWorkflow } from "../../functions/workflows/order.ts";
import { type Stub, testEngine } from "../../src/testing.ts";
import { real, type TestedStep, testEngines } from "./engines.ts";

const { aRunOf } = testEngines();

describe("stubs", () => {
  it("stand for undos by a name of their own, and are told what is undone", async () => {
    const undone: unknown[] = [];
    const note: Stub = ({ path, undone: { result, outcome, error } = {} }) =>
      undone.push([path, result, outcome, error?.message]);
    const compensate = real;
    const { t, run } = await aRunOf(
      async (step) => {
        await step.run("a", () => 1, { compensate });
        await step.map("each", [1, 2], (_, { step }) =>
          step.run("send", () => "s", { compensate: { run: compensate } }),
        );
        await step.run("b", () => Promise.reject(new Error("lost")), { retry: { maxAttempts: 1 }, compensate });
      },
      { a: () => "one", "[undo]/a": note, "[undo]/each[1]/send": note, "[undo]/send": note, "[undo]/b": note },
    );
    await t.advance("1 minute");
    await expect(run.result()).rejects.toMatchObject({ status: "failed" });
    expect(undone.toSorted()).toEqual([
      ["[undo]/a", "one", "succeeded", undefined],
      ["[undo]/b", undefined, "unknown", "lost"],
      ["[undo]/each[0]/send", "s", "succeeded", undefined],
      ["[undo]/each[1]/send", "s", "succeeded", undefined],
    ]);
  });

  it("of a step do not stand for its undo, which is carried out for real", async () => {
    const undo = vi.fn();
    const { run } = await aRunOf(
      async (step) => {
        await step.run("charge", real, { compensate: undo });
        throw new NonRetryableError("no");
      },
      { charge: () => "c1" },
    );
    await expect(run.result()).rejects.toMatchObject({ status: "failed" });
    expect(undo).toHaveBeenCalledExactlyOnceWith("c1", expect.objectContaining({ outcome: "succeeded", attempt: 1 }));
  });

  it("stand for bodies wherever steps are: in scopes, maps, branches, races and announcements", async () => {
    const paths: string[] = [];
    const note = ({ path }: { path: string }) => paths.push(path);
    const each = async (_: unknown, { step }: { step: Step }) => step.run("each", real);
    const branch = async ({ step }: { step: Step }) => step.run("branch", real);
    const { t, run } = await aRunOf(
      async (step) => {
        await step.scope("room", ({ step }) => step.run("inside", real));
        await step.scope("room", ({ step }) => step.run("inside", real));
        await step.map("map", ["a", "b"], each);
        await step.mapSettled("settled", ["a"], each);
        await step.all("all", [branch, branch]);
        await step.race("race", [branch]);
        await step.waitForCallback("approval", real);
      },
      { inside: note, each: note, branch: note, "approval/announce": note },
    );
    await run.untilWaiting("approval");
    const recorded = (await run.history()).records.map(({ path }) => path);
    expect(paths).toEqual(recorded);
    expect(paths).toEqual([
      "room/inside",
      "room#2/inside",
      "map[0]/each",
      "map[1]/each",
      "settled[0]/each",
      "all[0]/branch",
      "all[1]/branch",
      "race[0]/branch",
      "approval/announce",
    ]);
    await run.callback("approval").resolve({ ok: true });
    expect(await run.result()).toBeUndefined();
    expect(t.logs).toEqual([]);
  });

  it("are found by path, by path without numbers, and by name, in this order", async () => {
    const { run } = await aRunOf(
      async (step) => [
        ...(await step.map("ship", ["a", "b"], (_, { step }) => step.run<string>("send", real))),
        await step.run("send", real),
      ],
      { "ship[1]/send": () => "path", "ship/send": () => "without numbers", send: () => "name" },
    );
    expect(await run.result()).toEqual(["without numbers", "path", "name"]);
  });

  it("get the step's context, and the one that announces the callback's URL", async () => {
    const contexts: unknown[] = [];
    const note = (context: unknown) => contexts.push(context);
    const { run } = await aRunOf(
      async (step) => {
        await step.run("charge", real);
        await step.waitForCallback("approval", real);
      },
      { charge: note, announce: note },
    );
    await run.untilWaiting("approval");
    const { token } = run.callback("approval");
    const common = {
      attempt: 1,
      runId: run.runId,
      idempotencyKey: expect.any(String),
      abortSignal: expect.any(AbortSignal),
    };
    expect(contexts).toEqual([
      { ...common, path: "charge" },
      { ...common, path: "approval/announce", token, url: expect.stringContaining(token) },
    ]);
  });

  it("leave what has none to its real body", async () => {
    const { run } = await aRunOf(async (step) => step.run("real", async () => "really"), { other: () => "stub" });
    expect(await run.result()).toBe("really");
  });

  it.each([
    ["chrage", "charge"],
    ["coolOff", "cool off"],
    ["ship/sned", "ship[0]/send"],
  ])("of nearly a step's name fail the test, and its body is not run: %s for %s", async (stub, path) => {
    const body = vi.fn(real);
    const { run } = await aRunOf(
      async (step) => {
        await step.run("before", () => {});
        const [map, name = path] = path.split("[0]/");
        if (name === path) await step.run(name, body);
        else await step.map(map ?? "", [0], (_, { step }) => step.run(name, body));
      },
      { [stub]: () => {}, unused: () => {} },
    );
    await expect(run.result()).rejects.toMatchObject({
      code: "unknown_stub",
      message: expect.stringMatching(/no step has met the stub ".*Steps so far: "before", ".*onMissingStub/),
    });
    expect(body).not.toHaveBeenCalled();
  });

  it("of nearly a step's name are left aside if the test says so, or if another step has met them", async () => {
    const steps = async (step: TestedStep) => [await step.run("charge", () => 1), await step.run("charged", () => 2)];
    const other = await aRunOf(steps, { chrage: () => 3 }, { onMissingStub: "run" });
    expect(await other.run.result()).toEqual([1, 2]);
    const { run } = await aRunOf(steps, { charge: () => 3 });
    expect(await run.result()).toEqual([3, 2]);
  });

  it("of one step among several that are numbered leave the others to their bodies", async () => {
    const { run } = await aRunOf(
      async (step) => [await step.run("part 1", () => 1), await step.run("part 2", () => 2)],
      {
        "part 2": () => 3,
      },
    );
    expect(await run.result()).toEqual([1, 3]);
  });

  it("of a workflow that is not here are refused", async () => {
    await expect(testEngine({ workflows: [orderWorkflow], stub: { ordr: {} } })).rejects.toMatchObject({
      code: "unknown_workflow",
      message: expect.stringContaining('the workflows are "order"'),
    });
  });
});
