/** Crashes that a test asks for: between two turns, in a body, and over and over. */
import { describe, expect, it, vi } from "vitest";
import { real, type TestedStep, testEngines } from "./engines.ts";

const { aRunOf } = testEngines();

describe("a crash", () => {
  const twoSteps = async (step: TestedStep) => {
    const one = await step.run<string>("one", real);
    await step.sleep("between", "1 minute");
    return [one, await step.run<string>("two", real)];
  };

  it("between any two turns changes nothing", async () => {
    const body = vi.fn(({ path }: { path: string }) => path);
    const { t, run } = await aRunOf(
      async (step) => [
        await step.run("one", real),
        await step.run("two", real),
        await step.map("each", [0, 1], (_, { step }) => step.run("three", real)),
        await step.waitForSignal("go"),
        await step.run("four", real),
      ],
      { one: body, two: body, three: body, four: body },
    );
    await run.signal("go", "on");
    let turns = 0;
    for (t.crash(); await t.turn(); t.crash()) turns += 1;
    expect(turns).toBe(5);
    expect(await run.result()).toEqual(["one", "two", ["each[0]/three", "each[1]/three"], "on", "four"]);
    expect(body).toHaveBeenCalledTimes(5);
  });

  it("in the middle of a body has it carried out again, at once", async () => {
    let bodies = 0;
    const { t, run } = await aRunOf(twoSteps, {
      one: () => {
        bodies += 1;
        if (bodies === 1) t.crash();
        return `${bodies}`;
      },
      two: () => "2",
    });
    await t.untilIdle();
    await t.advance("1 minute");
    expect(await run.result()).toEqual(["2", "2"]);
    expect(t.now).toEqual(new Date("2026-01-01T12:01Z"));
  });

  it("loses what is known of a wait, not the wait", async () => {
    const { t, run } = await aRunOf(async (step) => step.waitForCallback("approval", () => {}, { timeout: "30 days" }));
    await run.untilWaiting("approval");
    t.crash();
    await t.advance("29 days");
    await run.callback("approval").resolve({ ok: true });
    t.crash();
    expect(await run.result()).toEqual({ ok: true });
  });

  it("over and over in one step ends with an error that says so", async () => {
    const { t, run } = await aRunOf(async (step) => step.run("deadly", real), { deadly: () => t.crash() });
    await t.advance("1 hour");
    await expect(run.result()).rejects.toMatchObject({
      cause: { name: "StepError", message: expect.stringContaining("deadly") },
    });
  });
});
