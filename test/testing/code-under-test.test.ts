/** Code under test, which uses the client of the test's engine. */
import { describe, expect, it } from "vitest";
import { testEngines, tested } from "./engines.ts";

const { aRunOf } = testEngines();

describe("code under test", () => {
  it("starts and signals runs by the engine's client, which the test then finds", async () => {
    const { t, run } = await aRunOf(async (step) => step.waitForSignal("go"));
    const { client } = t;
    t.crash();
    await t.advance("1s");
    const started = await client.start(tested, undefined, { id: "by code", tags: { by: "code" } });
    await t.untilIdle();
    await started.signal("go", "gone");
    const found = await t.runs(tested);
    expect(found.map(({ runId }) => runId)).toEqual([run.runId, started.runId]);
    expect(await found[1]?.result()).toBe("gone");
    expect((await client.list({ tags: { by: "code" } })).runs).toMatchObject([{ status: "completed" }]);
    expect(await run.status()).toBe("waiting");
  });

  it("is told that the engine is closed", async () => {
    const { t } = await aRunOf(async () => {});
    await t.close();
    await expect(t.client.list()).rejects.toMatchObject({ code: "closed" });
  });
});
