/** Cloudflare, AWS and Node at once, on one database: what one of them begins, each of them goes on with. */
import { expect, test } from "vitest";
import { testDatabase } from "../../postgres/database.ts";
import { threeHosts } from "./three-hosts.ts";

const database = testDatabase({ isOwn: true });
const timeout = 120_000;
const patiently = { interval: 50 };

test("a run goes from host to host, and each of its steps is done once", { timeout }, async () => {
  const { world, start, get, signal } = await threeHosts(database);
  const runId = await start("cloudflare", "hop", { world: world.url });
  await expect.poll(() => get("aws", runId), patiently).toMatchObject({ status: "waiting", records: 1 });
  await signal("aws", runId, "go", 1);
  await expect.poll(() => get("node", runId), patiently).toMatchObject({ status: "waiting", records: 4 });
  await signal("node", runId, "go", 2);
  await expect
    .poll(() => get("cloudflare", runId), patiently)
    .toMatchObject({
      status: "completed",
      result: ["one on cloudflare", "two on aws", "three on node"],
    });
  expect(world.asked).toEqual(["one", "two", "three"]);
});

test("a run whose code only one host has goes on there at once, whoever makes it ready", { timeout }, async () => {
  const { world, start, get, signal, onlyRun } = await threeHosts(database);
  // The run invokes one that only AWS carries, and that one another that only Node carries. Each end goes the way back.
  const runId = await start("cloudflare", "of-cloudflare", { world: world.url });
  await expect.poll(() => onlyRun("aws", "of-node"), patiently).toBeDefined();
  const inner = (await onlyRun("aws", "of-node")) ?? "";
  await expect.poll(() => get("aws", inner), patiently).toMatchObject({ status: "waiting" });
  await signal("node", inner, "go", 1);
  await expect
    .poll(() => get("node", runId), patiently)
    .toMatchObject({
      status: "completed",
      result: ["first on cloudflare", "third on node", "second on aws", "last on cloudflare"],
    });
  expect(world.asked).toEqual(["first", "third", "second", "last"]);
});

test("a run that waits is not lost with the machines of the host that has begun it", { timeout }, async () => {
  const { world, start, get, signal, kill } = await threeHosts(database);
  const runId = await start("node", "hop", { world: world.url });
  await expect.poll(() => get("aws", runId), patiently).toMatchObject({ status: "waiting", records: 1 });
  await kill("node");
  await signal("cloudflare", runId, "go", 1);
  await expect.poll(() => get("aws", runId), patiently).toMatchObject({ status: "waiting", records: 4 });
  await kill("cloudflare");
  await kill("aws");
  await signal("aws", runId, "go", 2);
  await expect
    .poll(() => get("cloudflare", runId), patiently)
    .toMatchObject({
      status: "completed",
      result: ["one on node", "two on cloudflare", "three on aws"],
    });
  expect(world.asked).toEqual(["one", "two", "three"]);
});
