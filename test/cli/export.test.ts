import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { v7 } from "uuid";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { HttpClient } from "../../src/client/over-http/http-client.ts";
import { workflow } from "../../src/core/contract/contract.ts";
import { createApiKey, type Scope, scopes } from "../../src/http/api-key.ts";
import { type NodeServer, serve } from "../../src/platform/node/index.ts";
import { replay } from "../../src/testing.ts";
import { testDatabase } from "../postgres/database.ts";
import { aFolder, layover, type Said, secret, secrets } from "./layover.ts";

const aKeyOf = (...granted: readonly Scope[]) =>
  createApiKey(secrets, { name: "test", namespace: "default", scopes: granted });
const key = aKeyOf(...scopes);
const lesser = aKeyOf("start", "read");
const parcel = workflow({
  name: "parcel",
  version: 1,
  input: z.object({ pages: z.number() }),
  signals: { van: z.string(), gate: z.string() },
});
type ParcelStep = Parameters<Parameters<typeof parcel.handler>[0]>[0]["step"];

/** The code that production runs. */
const parcelWorkflow = parcel.handler(async ({ input, step }) => {
  for (let page = 0; page < input.pages; page += 1) await step.run("page", () => "x".repeat(900_000));
  await step.run("pack", () => ({ packedAt: new Date(0) }));
  const van = await step.waitForSignal("van");
  await step.sleep("load", "0 seconds");
  const gate = await step.waitForSignal("gate");
  return `${van}, ${gate}`;
});

/** What somebody makes of it afterwards. */
const changedTo = (handle: (step: ParcelStep) => Promise<unknown>) => [parcel.handler(({ step }) => handle(step))];

describe("layover export", () => {
  const database = testDatabase({ isOwn: true });
  let server: NodeServer | undefined;
  beforeEach(async () => {
    server = await serve({
      workflows: [parcelWorkflow],
      database: database.query,
      secrets: [secret],
      port: 0,
      onEvent: () => {},
    });
  });
  afterEach(async () => {
    await server?.close();
    server = undefined;
  });

  const ask = (args: readonly string[], apiKey = key): Promise<Said> =>
    layover(args, { env: { LAYOVER_URL: server?.url ?? "", LAYOVER_KEY: apiKey } });

  const clientOf = (apiKey: string) => new HttpClient({ url: server?.url ?? "", apiKey });

  async function aRunAtTheGate(pages = 0) {
    const client = clientOf(key);
    const run = await client.start(parcel, { pages }, { id: "p1" });
    await run.signal("van", "red");
    await expect.poll(async () => (await run.history()).pending.map(({ path }) => path)).toEqual(["gate"]);
    return run;
  }

  test("writes a file that the test kit replays", async () => {
    const run = await aRunAtTheGate();
    await run.signal("van", "too late");
    const file = join(aFolder(), "p1.json");
    expect(await ask(["export", "parcel/p1", "--out", file, "--by", "ada", "--reason", "it hangs"])).toEqual({
      status: 0,
      stdout: `${file} has the run ${run.runId} with 3 records.\n`,
      stderr: "",
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const exported = JSON.parse(readFileSync(file, "utf8"));
    expect(exported).toMatchObject({
      kind: "layover-run",
      format: 1,
      status: "waiting",
      run: { workflow: "parcel", version: 1 },
      takes: [{ position: 2, name: "van" }],
      mail: { van: 1 },
      pending: [{ kind: "signal", path: "gate", signal: "gate" }],
      attempts: [],
    });
    const [operation] = (await run.history()).operations;
    expect(operation).toMatchObject({ verb: "export", by: "ada", reason: "it hangs" });

    expect(await replay(file, { workflows: [parcelWorkflow] })).toMatchObject({ outcome: "fits" });
    const swapped = changedTo(async (step) => {
      await step.run("pack", () => {});
      await step.sleep("load", "0 seconds");
      await step.waitForSignal("van");
    });
    const blocked = await replay(file, { workflows: swapped });
    expect(blocked).toMatchObject({
      outcome: "blocks",
      position: 1,
      expected: "signal van",
      instead: [{ kind: "sleep", place: "load", after: 1 }],
    });
    // The line is that of the code as it stands here.
    const [, path = "", line = "0"] =
      /^(.*):(\d+):\d+$/.exec(("instead" in blocked && blocked.instead[0]?.line) || "") ?? [];
    expect(readFileSync(path, "utf8").split("\n")[Number(line) - 1]).toContain('step.sleep("load"');
    const shortened = changedTo(async (step) => {
      await step.run("pack", () => {});
      await step.waitForSignal("van");
      await step.sleep("load", "0 seconds");
    });
    expect(await replay(exported, { workflows: shortened })).toMatchObject({
      outcome: "blocks",
      expected: "signal gate",
      reason: "the run waits for signal gate, which the code does not ask for",
    });
    await expect(replay(file, { workflows: [] })).rejects.toMatchObject({ code: "unknown_workflow" });
    await expect(replay({ ...exported, format: 2 }, { workflows: [] })).rejects.toMatchObject({
      code: "invalid_request",
    });
  });

  test("tells code that ends a run otherwise than it ended", async () => {
    const run = await aRunAtTheGate();
    await run.signal("gate", "open");
    expect(await run.result({ wait: "20s" })).toBe("red, open");
    const exported = JSON.parse((await ask(["export", "parcel/p1"])).stdout);
    expect(await replay(exported, { workflows: [parcelWorkflow] })).toMatchObject({ outcome: "fits" });
    const likeBefore = async (step: ParcelStep) => {
      await step.run("pack", () => {});
      const van = await step.waitForSignal("van");
      await step.sleep("load", "0 seconds");
      return `${van}, ${await step.waitForSignal("gate")}`;
    };
    const otherResult = changedTo(async (step) => (await likeBefore(step)).toUpperCase());
    expect(await replay(exported, { workflows: otherResult })).toMatchObject({
      outcome: "ends",
      reason: "the code returns another result than the run has",
    });
    const longer = changedTo(async (step) => {
      await likeBefore(step);
      await step.run("sweep", () => {});
    });
    expect(await replay(exported, { workflows: longer })).toMatchObject({
      outcome: "ends",
      reason: "the run is completed, and the code goes on: it asks for step sweep",
    });
    const failing = changedTo(async (step) => {
      await likeBefore(step);
      throw new Error("no");
    });
    expect(await replay(exported, { workflows: failing })).toMatchObject({
      outcome: "ends",
      reason: "the run is completed, and the code ends as failed",
    });
  });

  test("reads a long history in pages, and only for whom the database has noted", async () => {
    const run = await aRunAtTheGate(4);
    const exported = JSON.parse((await ask(["export", "parcel/p1"])).stdout);
    expect(exported.records).toHaveLength(7);
    expect(await replay(exported, { workflows: [parcelWorkflow] })).toMatchObject({ outcome: "fits" });
    expect((await run.history()).operations).toHaveLength(1);

    const post = (body: object, apiKey = key) =>
      fetch(`${server?.url}/v1/runs/${run.runId}/export`, {
        method: "POST",
        headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const callId = v7();
    const first = await (await post({ callId })).json();
    expect(first.records.length).toBeLessThan(7);
    expect(first.rest.status).toBe("waiting");
    const further = await (await post({ callId, after: first.records.length })).json();
    expect(further).toMatchObject({ rest: null, epoch: 0 });
    expect(further.records[0][1]).toBe("page");
    expect((await post({ callId: v7(), after: 1 })).status).toBe(400);
    expect((await post({ callId }, lesser)).status).toBe(403);
    expect((await run.history()).operations).toHaveLength(2);
  });

  test("needs a key with the scope export, and no other scope will do", async () => {
    const run = await aRunAtTheGate();
    const without = aKeyOf(...scopes.filter((scope) => scope !== "export"));
    expect(await ask(["export", "parcel/p1"], without)).toMatchObject({
      status: 1,
      stdout: "",
      stderr: expect.stringContaining("layover keys create NAME --scopes start,read,signal,export"),
    });
    expect((await run.history()).operations).toEqual([]);

    const exporter = aKeyOf("read", "export");
    expect((await ask(["export", "parcel/p1", "--by", "ada"], exporter)).status).toBe(0);
    expect((await run.history()).operations).toMatchObject([{ verb: "export", by: "ada", at: expect.any(Date) }]);
    await expect(clientOf(exporter).pauseRuns({ workflow: "parcel" })).rejects.toMatchObject({ code: "forbidden" });
  });
});
