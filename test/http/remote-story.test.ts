/** A program that has nothing but a url and a key carries a run from its start to its end, through a real server. */
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { HttpClient } from "../../src/client/over-http/http-client.ts";
import { workflow } from "../../src/core/contract/contract.ts";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { serve } from "../../src/platform/node/index.ts";
import { secret, secrets } from "../client/a-client.ts";
import { testDatabase } from "../postgres/database.ts";

const journey = workflow({
  name: "journey",
  version: 1,
  input: z.object({ from: z.date(), seats: z.map(z.string(), z.bigint()) }),
  output: z.object({ until: z.date(), seats: z.map(z.string(), z.bigint()) }),
  signals: { delayed: z.instanceof(Date) },
  callbacks: { board: z.set(z.string()) },
});
const journeyWorkflow = journey.handler(async ({ input, step, log }) => {
  const passengers = await step.waitForCallback("board", ({ url }) => log.info("boarding", { url }));
  const until = await step.waitForSignal("delayed");
  const seats = await step.run("seat", () => new Map([...input.seats].filter(([name]) => passengers.has(name))));
  return { until, seats };
});

const database = testDatabase();

it("starts a run, answers its callback, sends it a signal and gets its result, each value as it was given", async () => {
  const boarding = Promise.withResolvers<string>();
  const server = await serve({
    workflows: [journeyWorkflow],
    database: database.query,
    secrets: [secret],
    namespace: "rail",
    prefix: "/layover",
    port: 0,
    onLog: ({ fields }) => boarding.resolve(String(fields?.["url"])),
  });
  onTestFinished(() => server.close());
  const apiKey = createApiKey(secrets, { name: "test", namespace: "rail", scopes });
  const client = new HttpClient({ url: server.url, apiKey });

  const seats = new Map([
    ["Ada", 2n ** 64n],
    ["Grace", 1n],
  ]);
  const run = await client.start(journey, { from: new Date(0), seats }, { id: "j1" });
  await client.resolveCallback(await boarding.promise, new Set(["Ada"]), { contract: journey });
  await run.signal("delayed", new Date(86_400_000));
  expect(await run.result()).toEqual({ until: new Date(86_400_000), seats: new Map([["Ada", 2n ** 64n]]) });

  expect(await run.get()).toMatchObject({ status: "completed", id: "j1", input: { from: new Date(0), seats } });
  const { records, next } = await run.history();
  expect(records.map(({ path }) => path)).toContain("seat");
  expect(next).toBeUndefined();
});
