import { expect, test } from "vitest";
import { workerWithNode } from "./wrangler-bundle.ts";

test("the reference Worker for any Postgres is bundled as wrangler deploys it", () => {
  expect(workerWithNode("functions/worker-pg.ts")).toContain("LayoverAlarm");
});
