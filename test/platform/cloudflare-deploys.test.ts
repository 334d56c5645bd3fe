/** An object that still runs the code of before a deploy rings for runs that only the new code carries. */
import { workflow } from "layover";
import { v7 } from "uuid";
import { expect, test } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { Registry } from "../../src/engine/registry.ts";
import { AlarmShards } from "../../src/platform/cloudflare/alarm/alarm-shards.ts";
import { carriesAllOf, Minutes } from "../../src/platform/cloudflare/alarm/minutes.ts";
import { watch } from "../../src/platform/cloudflare/alarm/watch.ts";
import { makeCalls } from "../../src/postgres/calls.ts";
import { testDatabase } from "../postgres/database.ts";
import { PlayedObject } from "./minute-storage.ts";

const database = testDatabase({ isOwn: true });
const first = workflow({ name: "first", version: 1 }).handler(async () => {});
const second = workflow({ name: "second", version: 1 }).handler(async () => {});
const deployments = { old: [first], new: [first, second] };

test.each([1, 3])("keeps their minutes, and the cron trigger finds them (objects: %i)", async (count) => {
  const clock = await database.turnClock();
  let now = await clock.now();
  const pass = async (ms: number) => {
    now = await clock.advance(ms);
  };
  const host = { now: () => now, monotonic: () => now, after: () => () => {} };
  const objects = Array.from({ length: count }, () => new PlayedObject());
  const dispatched: string[] = [];
  let codeOfObject: keyof typeof deployments = "old";
  const shards = () =>
    new AlarmShards({
      shards: count,
      armed: new Set(),
      host,
      ask: async (shard, message) => (await minutes[shard]?.answer(message)) ?? null,
    });
  const code = (deployment: keyof typeof deployments) => {
    const calls = makeCalls({ query: database.query, namespace: "default", alarm: shards().alarm, host });
    const dispatch = async (turns: readonly { readonly runId: string }[]) =>
      void dispatched.push(...turns.map(({ runId }) => runId));
    const workflows = deployments[deployment];
    const registry = new Registry(workflows);
    const engine = new Engine({ calls, registry, dispatch, host, deployment: { name: "worker", id: deployment } });
    const tick = async () => {
      const { due, hasSeenAll } = await engine.tick();
      if (hasSeenAll)
        await calls.noteDeployment({ environment: "default", deploymentName: "worker", deployment, note: "looked" });
      return { due, isWhole: true };
    };
    const carries = workflows.map(({ contract }) => contract.name);
    return { calls, tick, code: { id: deployment, carries } };
  };
  const minutes: readonly Minutes[] = objects.map(
    (storage) =>
      new Minutes({
        storage,
        now: () => now,
        ring: async (live) => {
          const { tick, code: own } = code(codeOfObject);
          await tick();
          return carriesAllOf(own, live);
        },
        onError: (error) => expect.fail(String(error)),
      }),
  );
  const cron = (deployment: keyof typeof deployments) =>
    watch({ shards: shards(), ...code(deployment), sweepMs: undefined, tell: () => {} });

  await cron("old");
  await pass(60_000);
  await cron("new");
  const runId = v7({ msecs: now });
  await code("new").calls.startRun({
    runId,
    workflow: "second",
    version: 1,
    encodedInput: "0{}",
    delayMs: 180_000,
  });
  for (let half = 1; half <= 20; half += 1) {
    await pass(30_000);
    for (const [shard, object] of objects.entries()) {
      if (object.alarmAt === null || object.alarmAt > now) continue;
      object.alarmAt = null;
      await minutes[shard]?.ring();
    }
    if (half === 18) codeOfObject = "new";
    if (half % 2 === 0) await cron("new");
    if (half === 12) expect(dispatched).toContain(runId); // three minutes after it was due
  }
});
