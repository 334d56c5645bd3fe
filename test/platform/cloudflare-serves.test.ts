/** Two Workers' worth of workflows in one script, which share its Durable Object. */

import { workflow } from "layover";
import { type AlarmNamespace, LayoverAlarm, type QueueProducer, serve } from "layover/cloudflare";
import { expect, test } from "vitest";
import { QueryError } from "../../src/core/ports.ts";
import type { LayoverEvent } from "../../src/engine/events.ts";
import { newestMigration, ownRelease } from "../../src/postgres/schema-fit.ts";
import { PlayedObject } from "./minute-storage.ts";

interface Env {
  ALARM?: AlarmNamespace;
  readonly QUEUE: QueueProducer;
}

interface Told {
  /** The release of the functions in its database. */
  readonly functions?: string;
  readonly onEvent?: (event: LayoverEvent) => void;
  /** Whether its database refuses everything. */
  readonly isRefused?: boolean;
  /** Whether the Worker has neither a queue nor an object. */
  readonly isBare?: boolean;
}

/** Postgres, as far as a tick asks it; and who ticked. */
function served(
  name: string,
  ticked: string[],
  { functions = ownRelease, onEvent, isRefused = false, isBare = false }: Told = {},
) {
  let noted: string | undefined;
  const query = async (text: string, [parameter]: readonly unknown[] = []) => {
    if (isRefused) throw new QueryError("the function is gone", { sqlState: "XX000", isRolledBack: true });
    const call = parameter === undefined ? {} : JSON.parse(String(parameter));
    if (text.includes("note_deployment")) noted = call.deployment;
    if (!text.includes("list_due")) {
      return [{ answer: { now: Date.now(), pruned: 0, isMore: false, migration: newestMigration, functions } }];
    }
    ticked.push(name);
    const isNew = noted !== call.deployment;
    return [{ answer: { now: Date.now(), isOurs: true, isNew, runs: [], nextDueAt: null } }];
  };
  return serve<Env>({
    workflows: [workflow({ name, version: 1 }).handler(async () => {})],
    namespace: name,
    database: () => Object.assign(query, { endpoint: "localhost/test" }),
    publicUrl: () => "https://example.com",
    secrets: () => ["a root secret of at least 32 bytes, for tests"],
    ...(!isBare && { queue: (env) => env.QUEUE, alarm: (env) => env.ALARM }),
    ...(onEvent && { onEvent }),
  });
}

test("they tick together, each once for a deployment, and once for a minute that nobody rang", async () => {
  const ticked: string[] = [];
  const object = new PlayedObject();
  const env: Env = { QUEUE: { sendBatch: async () => {} } };
  const alarm = new LayoverAlarm({ storage: object }, env);
  env.ALARM = { getByName: () => ({ fetch: (url, request) => alarm.fetch(new Request(url, request)) }) };
  const workers = [served("a", ticked), served("b", ticked)];
  const cron = async () => {
    for (const worker of workers) await worker.scheduled({ scheduledTime: 0, cron: "* * * * *" }, env);
  };

  for (let minute = 0; minute < 5; minute += 1) await cron();
  expect(ticked.toSorted()).toEqual(["a", "b"]);

  ticked.length = 0;
  const longAgo = Math.floor(Date.now() / 60_000) - 3;
  await object.put({ [`minute/${String(longAgo).padStart(10, "0")}`]: 1 });
  await cron();
  expect(ticked.toSorted()).toEqual(["a", "b"]);
});

test("a Worker says once that the functions in its database are of another release, and ticks", async () => {
  const ticked: string[] = [];
  const events: LayoverEvent[] = [];
  const env: Env = { QUEUE: { sendBatch: async () => {} } };
  const worker = served("a", ticked, { functions: "0.0.9", onEvent: (event) => events.push(event) });
  for (let minute = 0; minute < 3; minute += 1) {
    await worker.scheduled({ scheduledTime: 0, cron: "* * * * *" }, env);
  }
  expect(ticked).toHaveLength(3);
  expect(events.filter(({ kind }) => kind === "error")).toMatchObject([{ code: "wrong_schema" }]);
});

test("a Worker tells what it costs that it has neither a queue nor an object, once", async () => {
  const events: LayoverEvent[] = [];
  const env: Env = { QUEUE: { sendBatch: async () => {} } };
  const worker = served("bare", [], { isBare: true, onEvent: (event) => events.push(event) });
  for (let minute = 0; minute < 3; minute += 1) await worker.scheduled({ scheduledTime: 0, cron: "* * * * *" }, env);
  expect(events).toMatchObject([
    { kind: "binding_missing", message: expect.stringContaining("no `queue`") },
    { kind: "binding_missing", message: expect.stringContaining("no `alarm`") },
  ]);
});

test("an object that cannot read its minutes tells so to each Worker of its script", async () => {
  const events: LayoverEvent[] = [];
  served("quiet", [], { onEvent: (event) => events.push(event) });
  const object = new PlayedObject();
  const alarm = new LayoverAlarm({ storage: object }, {});
  object.list = () => Promise.reject(new Error("the storage is away"));
  await alarm.alarm().catch(() => {});
  expect(events).toMatchObject([{ kind: "error", doing: "ringing an alarm" }]);
});

test("a tick that fails is told once, whoever had it happen", async () => {
  const events: LayoverEvent[] = [];
  const object = new PlayedObject();
  const env: Env = { QUEUE: { sendBatch: async () => {} } };
  const alarm = new LayoverAlarm({ storage: object }, env);
  env.ALARM = { getByName: () => ({ fetch: (url, request) => alarm.fetch(new Request(url, request)) }) };
  const worker = served("refused", [], { isRefused: true, onEvent: (event) => events.push(event) });
  // Schedules are tried although the look at runs was refused.
  const told = [{ doing: "firing schedules" }, { doing: "ticking" }];

  await expect(worker.scheduled({ scheduledTime: 0, cron: "* * * * *" }, env)).rejects.toThrow(
    "a tick failed: the function is gone",
  );
  expect(events.filter(({ kind }) => kind === "error")).toMatchObject(told);

  events.length = 0;
  const longAgo = Math.floor(Date.now() / 60_000) - 3;
  await object.put({ [`minute/${String(longAgo).padStart(10, "0")}`]: 1 });
  await alarm.alarm();
  expect(events.filter(({ kind }) => kind === "error")).toMatchObject(told);
});
