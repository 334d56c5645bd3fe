/** How long runs are kept that are over, as their contracts say: through the tick, on a clock turned by hand. */
import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { World } from "./world.ts";

const database = testDatabase();
const day = 86_400_000;
const keep = { keepMs: 10 * day, keepFailedMs: 20 * day };

const report = workflow({ name: "report", version: 1, retention: { completed: "2 days" } });
const audit = workflow({ name: "audit", version: 1, retention: { completed: "40 days", failed: "50 days" } });
const plain = workflow({ name: "plain", version: 1 });
const all = [report, audit, plain];

const handlers = all.map((contract) =>
  contract.handler(async ({ run }) => {
    if (run.id === "failed") throw new Error("failed");
  }),
);

describe("runs that are over", () => {
  test("are kept as long as their contract says, and otherwise as long as the deployment says", async () => {
    const world = await World.begin(database, { workflows: handlers, ...keep });
    const runs = new Map<string, string>();
    for (const contract of all) {
      for (const id of ["completed", "failed"])
        runs.set(`${contract.name} ${id}`, (await world.start(contract, undefined, { id })).runId);
    }
    const leftAfter = async (days: number) => {
      while (world.time < days * day) await world.pass("12h");
      await world.tick();
      const found = await Promise.allSettled([...runs.values()].map((runId) => world.get(runId)));
      return [...runs.keys()].filter((_, index) => found[index]?.status === "fulfilled");
    };
    const failed = ["audit completed", "audit failed"];
    expect(await leftAfter(1)).toHaveLength(6);
    expect(await leftAfter(3)).toEqual(["report failed", ...failed, "plain completed", "plain failed"]);
    expect(await leftAfter(11)).toEqual(["report failed", ...failed, "plain failed"]);
    expect(await leftAfter(21)).toEqual(failed);
    expect(await leftAfter(41)).toEqual(["audit failed"]);
    expect(await leftAfter(51)).toEqual([]);
  });

  test("are refused a time that is none", () => {
    const withTime = (failed: number) => () => workflow({ name: "odd", version: 1, retention: { failed } });
    expect(withTime(-1)).toThrow(/retention.failed/);
    expect(withTime(11 * 366 * day)).toThrow(/10 years/);
  });
});
