/** Signals and callbacks that a test sends to a run and answers. */
import { describe, expect, it } from "vitest";
import { testEngines, tested } from "./engines.ts";

const { anEngine, aRunOf } = testEngines();

describe("a signal that starts its run", () => {
  it("is there for the new run, and for the run that is there", async () => {
    const workflows = [
      tested.handler(async ({ step }) => [await step.waitForSignal("go"), await step.waitForSignal("other")]),
    ];
    const t = await anEngine({ workflows });
    const first = await t.signalWithStart(tested, "go", "now", { id: "t1" });
    await first.run.untilWaiting("other");
    const second = await t.signalWithStart(tested, "other", 1, { id: "t1" });
    expect([first.outcome, second.outcome, second.run.runId]).toEqual(["sent", "sent", first.run.runId]);
    expect(await second.run.result()).toEqual(["now", 1]);
  });
});

describe("signals", () => {
  it("are kept for a wait that comes later", async () => {
    const { t, run } = await aRunOf(async (step) => {
      await step.sleep("first", "1 day");
      return [await step.waitForSignal("go"), await step.waitForSignal("go")];
    });
    await run.signal("go", "early");
    await run.signal("go", "earlier than the wait");
    await t.advance("1 day");
    expect(await run.result()).toEqual(["early", "earlier than the wait"]);
  });

  it("wake a run that waits", async () => {
    const { run } = await aRunOf(async (step) => step.waitForSignal("go"));
    await run.untilWaiting("go");
    await run.signal("go", "now");
    expect(await run.result()).toBe("now");
  });

  it("are checked by the contract", async () => {
    const { run } = await aRunOf(async (step) => step.waitForSignal("go"));
    // @ts-expect-error: the payload is a text
    await expect(run.signal("go", 1)).rejects.toMatchObject({ code: "invalid_payload" });
  });
});

describe("callbacks", () => {
  it("may be rejected", async () => {
    const { run } = await aRunOf(async (step) => step.waitForCallback("approval", () => {}));
    await run.untilWaiting("approval");
    await run.callback("approval").reject("too expensive");
    await expect(run.result()).rejects.toMatchObject({ cause: { name: "CallbackRejectedError" } });
  });

  it("of one name are answered one after the other, or by their path", async () => {
    const { run } = await aRunOf(async (step) =>
      step.map("each", [0, 1, 2], async (_, { step }) => (await step.waitForCallback("approval", () => {})).ok),
    );
    await run.untilWaiting("approval");
    await run.callback("approval", { path: "each[2]/approval" }).resolve({ ok: false });
    await run.callback("approval").resolve({ ok: true });
    await run.callback("approval").resolve({ ok: false });
    expect(await run.result()).toEqual([true, false, false]);
  });

  it("are answered where the run waits for them, also after a restart and in a fork", async () => {
    const { run } = await aRunOf(async (step) => {
      const ask = async () => (await step.waitForCallback("approval", () => {})).ok;
      const answers = [await ask(), await ask()];
      return await step.run("end", () => answers);
    });
    const answer = async (of: typeof run, ok: boolean) => {
      await of.untilWaiting("approval");
      await of.callback("approval").resolve({ ok });
    };
    await answer(run, true);
    await run.untilWaiting("approval");
    await run.pause();
    await run.restart();
    for (const ok of [false, true]) await answer(run, ok);
    expect(await run.result()).toEqual([false, true]);
    const fork = await run.fork({ from: "approval" });
    for (const ok of [true, false]) await answer(fork, ok);
    expect(await fork.result()).toEqual([true, false]);
  });

  it("that were not made yet are missed", async () => {
    const { run } = await aRunOf(async (step) => step.waitForCallback("approval", () => {}));
    expect(() => run.callback("approval")).toThrow(/no callback "approval" yet.*untilWaiting/);
  });
});
