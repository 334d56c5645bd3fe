/** Deliveries that a deployment on AWS answers before they are carried out, in the bundle, with AWS' own clients on the wire. */
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { deploy } from "./a-deployment.ts";
import type { Fate } from "./cloud.ts";
import { push } from "./push.ts";

const database = testDatabase({ isOwn: true });
const patiently = { interval: 50 };
const timeout = 90_000;

async function runs(): Promise<unknown[]> {
  const { rows } = await database.pool.query(
    "select r.user_id as id, t.status from layover.run r join layover.run_state t on t.run_id = r.id order by 1",
  );
  return rows;
}

const done = [{ id: "g1", status: "completed" }];

test("a delivery is accepted without SQL, and carried out by the queue", { timeout }, async () => {
  const deployment = await deploy(database);
  expect(await push(deployment, "g1")).toEqual([202, "accepted"]);
  await expect.poll(runs, patiently).toEqual(done);
  const { cloud } = deployment;
  expect(cloud.invoked.filter(({ error }) => error !== undefined)).toEqual([]);
  const sent = cloud.wire.received.flatMap(({ call }) => (call.service === "sqs" ? call.messages : []));
  expect(sent).toMatchObject([{ body: expect.stringContaining('"sealed"') }]);
  expect(sent[0]?.body).not.toContain("github");
});

test("a delivery that fails is tried again until it is done, though the messages and the processes are lost", {
  timeout,
}, async () => {
  const fates: Fate[] = [];
  const deployment = await deploy(database, {
    delays: (ms) => Math.min(ms, 300),
    fateOf: ({ call }) =>
      call.service === "lambda" && "isAwaited" in call && call.isAwaited ? (fates.shift() ?? "passes") : "passes",
  });
  fates.push("fails after", "throttled", "twice");
  expect(await push(deployment, "g1")).toEqual([202, "accepted"]);
  await expect.poll(runs, patiently).toEqual(done);
  await expect.poll(() => fates, patiently).toEqual([]); // the first try has done it, and its answer was lost
  const { rows } = await database.pool.query("select id, outcome, attempts from layover.delivery");
  expect(rows).toEqual([{ id: "g1", outcome: "done", attempts: 1 }]);
});

test("a delivery is done before its answer where the queue refuses it", { timeout }, async () => {
  const deployment = await deploy(database, {
    fateOf: ({ call }) => (call.service === "sqs" ? "throttled" : "passes"),
  });
  expect(await push(deployment, "g1")).toEqual([200, "done"]);
  await expect.poll(runs, patiently).toEqual(done);
});
