import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { HttpClient } from "../../src/client/over-http/http-client.ts";
import { workflow } from "../../src/core/contract/contract.ts";
import { createApiKey, type Scope } from "../../src/http/api-key.ts";
import { startInProcess } from "../../src/platform/node/in-process/in-process.ts";
import type { InProcess } from "../../src/platform/node/in-process/options.ts";
import { namespace, secrets } from "../client/a-client.ts";
import { testDatabase } from "../postgres/database.ts";
import { aDescribedApp } from "./openapi/described.ts";

const fails = workflow({ name: "fails", version: 1, input: z.boolean() });
const failsWorkflow = fails.handler(async ({ step, input: isCaught }) => {
  const settled = await step.mapSettled("charges", [1], (_, inside) =>
    inside.step.run(
      "charge",
      () => {
        throw new Error("declined", { cause: new TypeError("no card") });
      },
      { retry: { maxAttempts: 2, delay: 0 } },
    ),
  );
  const [outcome] = settled;
  if (!isCaught && outcome?.status === "rejected") throw outcome.reason;
  return { settled, causes: new Map([["own", new Error("of the handler")]]) };
});

/** Name of this file, which stands in the stack of each error that is thrown here. */
const ownFile = "stacks.test.ts";

const undoes = workflow({ name: "undoes", version: 1 });
const undoesWorkflow = undoes.handler(async ({ step }) => {
  await step.run("charge", () => 1, {
    compensate: { run: () => Promise.reject(new Error("gone")), retry: { maxAttempts: 1 } },
  });
  throw new Error("declined", { cause: new TypeError("no card") });
});

describe("the stacks of errors", () => {
  const database = testDatabase();
  const runs: Record<string, string> = {};
  let host: InProcess;

  beforeAll(async () => {
    const workflows = [failsWorkflow, undoesWorkflow];
    host = await startInProcess({ workflows, database: database.query, namespace, onError: () => {} });
    const undone = await host.client.start(undoes);
    await host.client.waitForEnd(undone.runId, { wait: "20s" });
    runs["undone"] = undone.runId;
    for (const isCaught of [true, false]) {
      const run = await host.client.start(fails, isCaught);
      await host.client.waitForEnd(run.runId, { wait: "20s" });
      runs[isCaught ? "caught" : "failed"] = run.runId;
    }
  });
  afterAll(async () => await host.close());

  /** Answers the whole response to each path that a key with these scopes asks. */
  async function answersTo(scopes: readonly Scope[], accept: string): Promise<Record<string, string>> {
    const app = aDescribedApp({ client: host.client, contracts: [fails], secrets, namespace, onError: () => {} });
    const authorization = `Bearer ${createApiKey(secrets, { name: "test", namespace, scopes })}`;
    const { caught = "", failed = "", undone = "" } = runs;
    const paths = [
      "/v1/runs",
      ...[caught, failed, undone].flatMap((id) => ["", "/history", "/result"].map((part) => `/v1/runs/${id}${part}`)),
    ];
    const answers: Record<string, string> = {};
    for (const path of paths) {
      const response = await app.request(path, { headers: { authorization, accept } });
      expect(response.status, path).toBe(200);
      answers[path] = await response.text();
    }
    return answers;
  }

  it.each(["application/json", "application/vnd.layover.value"])("are not shown to callers in %s", async (accept) => {
    for (const [path, text] of Object.entries(await answersTo(["start", "read", "signal"], accept))) {
      expect(text, path).not.toContain(ownFile);
      expect(text, path).not.toContain('"stack"');
    }
  });

  it("are shown to callers with the scope admin", async () => {
    const { failed = "", undone = "" } = runs;
    const answers = await answersTo(["read", "admin"], "application/json");
    for (const path of [
      "/v1/runs",
      ...[failed, undone].flatMap((id) => ["", "/history", "/result"].map((part) => `/v1/runs/${id}${part}`)),
    ]) {
      expect(answers[path], path).toContain(ownFile);
    }
  });

  it("are shown in process, and all else of an error and its causes is shown to everybody", async () => {
    const { failed = "" } = runs;
    const { undone = "" } = runs;
    const { error } = await host.client.get(failed);
    expect(error?.stack).toContain("StepError");
    expect(error?.cause?.stack).toContain(ownFile);

    const app = aDescribedApp({ client: host.client, contracts: [fails], secrets, namespace, onError: () => {} });
    const apiKey = createApiKey(secrets, { name: "test", namespace, scopes: ["read"] });
    const client = new HttpClient({
      url: "http://test",
      apiKey,
      fetch: async (url, init) => await app.request(url, init),
    });
    await expect(client.result(failed)).rejects.toMatchObject({
      cause: {
        name: "StepError",
        cause: { name: "Error", message: "declined", cause: { name: "TypeError", message: "no card" } },
      },
    });
    expect((await client.get(failed)).error).not.toHaveProperty("stack");
    const history = await client.history(failed);
    expect(history.attempts.map(({ error }) => error?.message)).toEqual(["declined", "declined"]);
    expect((await client.get(undone)).error).toMatchObject({
      message: "declined",
      data: { compensation: { failed: [{ step: "charge", error: { message: "gone" } }] } },
    });
    const ending = (await client.history(undone)).records.find(({ kind }) => kind === "ending");
    expect(ending).toMatchObject({
      value: { next: "failed", error: { message: "declined", cause: { message: "no card" } } },
    });
    expect(history.records[0]).toMatchObject({ isFailure: true, value: { message: "declined" } });
  });
});
