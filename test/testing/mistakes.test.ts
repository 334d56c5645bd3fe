/** Mistakes of a handler and of a test: they fail the test with an error that says what is wrong. */
import { describe, expect, it } from "vitest";
import { order } from "../../functions/workflows/order.ts";
import { failing } from "../../src/testing.ts";
import { real, testEngines } from "./engines.ts";
import { input } from "./order-input.ts";

const { aRunOf } = testEngines();

describe("a mistake of a handler", () => {
  it("fails the test: an await that is no step", async () => {
    const { t } = await aRunOf(async (step) => {
      await step.run("charge", () => 1);
      await new Promise((resolve) => setTimeout(resolve, 10));
      return "done";
    });
    await expect(t.untilIdle()).rejects.toMatchObject({
      code: "handler_mistake",
      message: expect.stringContaining("awaits something after charge that is no step"),
    });
  });

  it("fails the test: a step that nobody awaits", async () => {
    const { t } = await aRunOf(async (step) => {
      void step.run("audit", () => {});
      return "done";
    });
    await expect(t.untilIdle()).rejects.toMatchObject({
      code: "handler_mistake",
      message: expect.stringContaining('nothing awaited step "audit"'),
    });
  });
});

describe("a test that goes wrong", () => {
  it("is told what the run does instead of waiting", async () => {
    const { t, run } = await aRunOf(
      async (step) => {
        await step.run("charge", real);
        await step.waitForSignal("go");
      },
      { charge: failing(1, () => "c1", new Error("card declined")) },
    );
    await expect(run.untilWaiting("go")).rejects.toMatchObject({
      code: "not_waiting",
      message: expect.stringMatching(
        /it is retrying; retry "charge" until 2026-01-01T12:00:00.500Z.*card declined.*advance/,
      ),
    });
    await t.advance("1s");
    await run.untilWaiting("go");
    await expect(run.result()).rejects.toMatchObject({
      code: "not_over",
      message: expect.stringMatching(/it is waiting; signal "go"/),
    });
  });

  it("is told of a run that is held up, and when it is tried again", async () => {
    const { t, run } = await aRunOf(async () => new Promise(() => {}));
    await expect(t.untilIdle()).rejects.toMatchObject({
      code: "never_ends",
      message: expect.stringContaining("no step"),
    });
    await t.advance("1s");
    await expect(run.result()).rejects.toThrow(
      /it is retrying; the handler awaits something .*that is no step.*; it is tried again at 2026-01-01T12:0\d:/,
    );
  });

  it("is told of a body that never ends, instead of hanging", async () => {
    const stubs = { slow: () => new Promise(() => {}) };
    const { t, run } = await aRunOf(async (step) => step.run("slow", real), stubs, { patience: 20 });
    await expect(t.untilIdle()).rejects.toMatchObject({
      code: "never_ends",
      message: `Not over within 20 ms of real time: the body of step "slow" of run ${run.runId}. Stub it, raise \`patience\`, or let it run into its timeout by advance().`,
    });
    await expect(run.result()).rejects.toThrow(/it is running.*the body of step "slow"/);
  });

  it("waits for a body that takes real time", async () => {
    const slow = () => new Promise((resolve) => setTimeout(() => resolve("slowly"), 60));
    const { run } = await aRunOf(async (step) => step.run("slow", slow));
    expect(await run.result()).toBe("slowly");
  });

  it("is told that a workflow is not here", async () => {
    const { t } = await aRunOf(async () => {});
    await expect(t.start(order, input)).rejects.toMatchObject({ code: "unknown_workflow" });
  });

  it("is told that the engine is closed", async () => {
    const { t, run } = await aRunOf(async () => {});
    await t.close();
    await expect(run.result()).rejects.toMatchObject({ code: "closed" });
  });
});
