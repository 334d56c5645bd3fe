import { expect, test } from "vitest";
import { testSeed } from "../size.ts";
import { wage } from "./campaign.ts";

/** What matters is that everything ends right. By hand it can go on for longer: `npm run chaos`. */
test("everything ends right, whatever is killed, frozen, crashed and cut off", { timeout: 240_000 }, async () => {
  const { counts, violations, evidence } = await wage({
    ...{ seed: testSeed ?? 5, version: 18, berths: 3, people: 6, leaseMs: 2_000 },
    ...{ chaosMs: 6_000, quietMs: 120_000, wokenBy: "deploys" },
    report: () => {},
  });
  expect(violations.map((violation) => ({ ...violation, evidence: evidence.get(violation.runId) }))).toEqual([]);
  const disasters = ["kill", "freeze", "stop", "crash", "cuts", "cancelled"];
  // Another seed may plan none of some kind in so short a time.
  for (const happened of testSeed === undefined ? disasters : []) expect(counts[happened], happened).toBeGreaterThan(0);
  expect(counts).toMatchObject({ deadlocks: 0 });
});
