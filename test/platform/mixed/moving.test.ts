/**
 * The guide of functions/README.md, "Moving from one host to another", step by step, while runs are started and signals sent: each run goes
 * on within two minutes of its instant, and each of its steps is carried out once.
 */
import { expect, test } from "vitest";
import { testDatabase } from "../../postgres/database.ts";
import { isWhole } from "../../size.ts";
import { Traffic } from "./traffic.ts";
import type { Host } from "./workflows.ts";

const database = testDatabase({ perTest: true });

test.each<[from: Host, to: Host, count: number]>([
  ["cloudflare", "aws", isWhole ? 1_000 : 100],
  ["aws", "node", 100],
  ["node", "cloudflare", 100],
])("runs in flight are moved from %s to %s: %d", { timeout: 900_000 }, async (from, to, count) => {
  const traffic = await Traffic.open(database);
  await traffic.deploy(from);
  await traffic.startMany(from, count, 6);
  await traffic.pass();
  await traffic.deploy(to);
  await traffic.startMany(from, count / 20, 6); // what the host has armed for them goes with it
  await traffic.signalSome(from, count / 40);
  await traffic.pass();
  await traffic.startMany(to, count / 20, 2);
  await traffic.signalSome(to, count / 40);
  await traffic.pass();
  traffic.takeAway(from);
  await traffic.wake(to);
  await traffic.signalSome(to, count / 40);
  for (let minute = 0; minute < 6; minute += 1) {
    await traffic.pass();
    await traffic.startMany(to, count / 100, 1);
    await traffic.signalSome(to, count / 40);
  }
  for (let minute = 0; minute < 3; minute += 1) {
    await traffic.signalSome(to, count);
    await traffic.pass();
  }

  const moved = [...(await traffic.judge(to)).values()].filter(
    ({ places }) => places.join() === `before on ${from},after on ${to}`,
  );
  expect(moved.length).toBeGreaterThan(count / 3);
});
