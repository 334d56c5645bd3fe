/** Operations on a run: it is deleted, paused and cancelled by a test. */
import { describe, expect, it } from "vitest";
import { real, testEngines, tested } from "./engines.ts";

const { aRunOf } = testEngines();

describe("a deletion", () => {
  it("leaves nothing of a run that is over", async () => {
    const { t, run } = await aRunOf(async () => 1);
    await expect(run.delete()).rejects.toMatchObject({ code: "not_applicable" });
    await run.result();
    expect(await run.delete({ by: "ada" })).toEqual({ runId: run.runId, outcome: "deleted" });
    expect(await t.runs(tested)).toEqual([]);
  });
});

describe("a pause", () => {
  it("lets nothing begin until the run is resumed", async () => {
    const { t, run } = await aRunOf(
      async (step) => {
        await step.sleep("nap", "1 hour");
        return await step.run("charge", real);
      },
      { charge: () => "c1" },
    );
    await run.pause({ by: "ada", reason: "their API is down" });
    await t.advance("3 hours");
    expect(await run.status()).toBe("paused");
    await run.resume();
    await t.advance("2 hours");
    expect(await run.result()).toBe("c1");
    expect((await run.history()).operations.map(({ verb, by }) => [verb, by])).toEqual([
      ["pause", "ada"],
      ["resume", undefined],
    ]);
  });

  it("may be followed by the end of the run, at once", async () => {
    const { run } = await aRunOf(async (step) => step.sleep("nap", "1 hour"));
    await run.pause();
    await run.terminate({ by: "ada", reason: "a test" });
    await expect(run.result()).rejects.toMatchObject({
      status: "cancelled",
      cause: { name: "CancelledError", message: "terminated by ada: a test" },
    });
  });

  it("is refused once the run is over", async () => {
    const { run } = await aRunOf(async () => "done");
    await run.result();
    await expect(run.pause()).rejects.toMatchObject({ code: "not_applicable" });
  });
});

describe("a cancel", () => {
  it("has the run clean up, and then it is cancelled", async () => {
    const { t, run } = await aRunOf(
      async (step) => {
        try {
          await step.sleep("nap", "1 day");
        } finally {
          await step.cleanup("release", async ({ step }) => {
            await step.sleep("settle", "10 minutes");
            await step.run("unlock", real);
          });
        }
      },
      { "release/unlock": () => "unlocked" },
    );
    await t.advance("1 minute");
    expect(await run.cancel({ by: "ada", reason: "ordered twice" })).toMatchObject({ outcome: "cancelling" });
    await t.advance("20 minutes");
    await expect(run.result()).rejects.toMatchObject({
      status: "cancelled",
      cause: { name: "CancelledError", message: "the run was cancelled: ordered twice" },
    });
    const { records, operations } = await run.history();
    expect(records.map(({ kind, value }) => [kind, value])).toMatchObject([
      ["closing", { name: "CancelledError", message: "the run was cancelled: ordered twice" }],
      ["sleep", undefined],
      ["step", "unlocked"],
    ]);
    expect(operations).toMatchObject([{ verb: "cancel", by: "ada" }]);
  });

  it("is refused once the run is over", async () => {
    const { run } = await aRunOf(async () => "done");
    await run.result();
    await expect(run.cancel()).rejects.toMatchObject({ code: "not_applicable" });
  });
});
