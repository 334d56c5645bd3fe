import { expect, test } from "vitest";
import { bundleSize, describeSize, excess, limits } from "./bundle-size.ts";

test("a Worker needs none of Node's modules, and stays within its limits", async () => {
  const size = await bundleSize(["layover-source"]);
  expect(excess(size)).toBeUndefined();
  const names = size.packages.map(([name]) => name);
  expect(names.toSorted()).toEqual(["@neondatabase/serverless", "@noble/hashes", "hono", "layover", "uuid", "zod"]);
});

test("a Worker that is too large is told by its parts", () => {
  const size = { own: limits.own, all: limits.all, packages: [["zod", 90_500]] } as const;
  expect(excess(size)).toBeUndefined();
  expect(excess({ ...size, own: limits.own + 1 })).toContain("own share is over its limit");
  expect(excess({ ...size, all: limits.all + 1 })).toContain("whole is over its limit");
  expect(describeSize(size)).toContain("zod 90.5 kB");
});
