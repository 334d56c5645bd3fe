import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { workflow } from "../../src/core/contract/contract.ts";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { type NodeServer, serve } from "../../src/platform/node/index.ts";
import { testDatabase } from "../postgres/database.ts";
import { layover, type Said, secret, secrets } from "./layover.ts";

const refund = workflow({ name: "refund", version: 1, callbacks: { approval: z.object({ ok: z.boolean() }) } });
const refundWorkflow = refund.handler(({ step }) =>
  step.waitForCallback("approval", () => {}, { timeout: "3 days", title: "Refund Ada?" }),
);

const patience = { timeout: 20_000, interval: 50 };

describe("layover callback", () => {
  const database = testDatabase({ isOwn: true });
  let server: NodeServer | undefined;

  afterEach(async () => {
    await server?.close();
    server = undefined;
  });

  async function aRunThatWaits(id: string): Promise<(...args: readonly string[]) => Promise<Said>> {
    server ??= await serve({
      workflows: [refundWorkflow],
      database: database.query,
      secrets: [secret],
      port: 0,
      onError: () => {},
    });
    const { url, client } = server;
    const run = await client.start(refund, undefined, { id });
    await expect.poll(async () => (await run.get()).status, patience).toBe("waiting");
    const key = createApiKey(secrets, { name: "ops", namespace: "default", scopes });
    return (...args) => layover(["callback", `refund/${id}`, ...args], { env: { LAYOVER_URL: url, LAYOVER_KEY: key } });
  }

  test("gives the link that answers, and then tells that it was answered", async () => {
    const ask = await aRunThatWaits("r1");
    const open = await ask("approval");
    expect(open.stderr).toMatch(
      /^The callback "approval" waits for an answer, until \d{4}-[^.]+\. Whoever has this link may answer it:\n$/,
    );
    expect(open.stdout).toMatch(/^http:\/\/localhost:\d+\/callbacks\/[\w-]+\.[\w-]+\n$/);
    const headers = { "content-type": "application/json" };
    const answer = await fetch(open.stdout.trim(), { method: "POST", headers, body: '{"ok": true}' });
    expect(answer.status).toBe(200);
    expect(await ask("approval")).toEqual({ status: 0, stdout: 'The callback "approval" was answered.\n', stderr: "" });
    const { stdout } = await ask("approval", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ name: "approval", path: "approval", status: "resolved" });
  });

  test("says which key to make, where this one lacks the scope", async () => {
    await aRunThatWaits("r1");
    const key = createApiKey(secrets, { name: "old", namespace: "default", scopes: ["start", "read", "signal"] });
    const env = { LAYOVER_URL: server?.url ?? "", LAYOVER_KEY: key };
    const { status, stderr } = await layover(["callback", "refund/r1", "approval"], { env });
    expect(status).toBe(1);
    expect(stderr).toContain("wants a key with the scope callbacks");
    expect(stderr).toContain("Make one: layover keys create NAME --scopes start,read,signal,callbacks.");
    expect(stderr).toContain("once layover dev was started again");
  });

  test("answers and rejects in the place of whoever has the link", async () => {
    const [one, other] = [await aRunThatWaits("r1"), await aRunThatWaits("r2")];
    const wrong = await one("approval", "--resolve", '{"ok": 1}');
    expect(wrong).toMatchObject({ status: 1, stdout: "" });
    expect(wrong.stderr).toContain('The answer to callback "approval" does not fit');
    expect(await one("approval", "--resolve", '{"ok": true}')).toEqual({
      status: 0,
      stdout: "Resolved.\n",
      stderr: "",
    });
    expect(await other("approval", "--reject", "too late")).toEqual({ status: 0, stdout: "Rejected.\n", stderr: "" });
    const both = await other("approval", "--resolve", "1", "--reject", "no");
    expect(both).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^Both --resolve and --reject are given\./),
    });

    const ended = async (id: string) => {
      const run = await server?.client.runById(refund, id);
      return await server?.client.waitForEnd(run?.runId ?? "", { wait: "20s" });
    };
    expect(await ended("r1")).toMatchObject({ status: "completed", result: { ok: true } });
    expect(await ended("r2")).toMatchObject({
      status: "failed",
      error: { name: "CallbackRejectedError", message: expect.stringContaining("too late") },
    });
  });

  test("says what the run waits for where it is another callback", async () => {
    const ask = await aRunThatWaits("r1");
    expect(await ask("refund")).toEqual({
      status: 1,
      stdout: "",
      stderr: 'The run does not wait for a callback "refund".\nName one by its place. The run waits at "approval".\n',
    });
  });
});
