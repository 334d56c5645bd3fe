/** Values that a workflow calls sensitive: a story with one at each place, and nobody is shown any of them. */
import { workflow } from "layover";
import { dashboard } from "layover/dashboard";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { HttpClient } from "../../src/client/over-http/http-client.ts";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { type NodeServer, serve } from "../../src/platform/node/index.ts";
import { type ExportedRun, replay } from "../../src/testing.ts";
import { testDatabase } from "../postgres/database.ts";
import { layover, secret, secrets } from "./layover.ts";

/** A word that stands in every sensitive value, and nowhere else. */
const word = "tulip";
const key = createApiKey(secrets, { name: "test", namespace: "default", scopes });

/** A schema whose complaints repeat the value. */
const Card = z
  .string()
  .refine((text) => text.startsWith(word), { error: ({ input }) => `${String(input)} is no card` });

const bank = workflow({ name: "bank", version: 1, input: Card, output: z.string(), sensitive: ["input", "output"] });
const payment = workflow({
  name: "payment",
  version: 1,
  input: z.object({ card: Card, amount: z.number() }),
  output: z.array(z.string()),
  signals: { code: Card, note: z.string() },
  callbacks: { approval: Card },
  sensitive: ["input", "output", "signals.code", "callbacks.approval"],
});
const workflows = [
  bank.handler(async ({ input }) => `${input} at the bank`),
  payment.handler(async ({ input, step, log }) => {
    const charge = await step.run("charge", () => `${input.card} charged`, { sensitive: true });
    const plain = await step.run("count", () => input.amount);
    const kept = await step.transaction("keep", async () => `${word} kept`, { sensitive: true });
    const asked = await step.waitForCallback("approval", ({ url }) => void link(url));
    const code = await step.waitForSignal("code");
    const note = await step.waitForSignal("note");
    const told = await step.invoke("tell", bank, input.card);
    log.info("paid", { plain, note });
    return [charge, kept, asked, code, told];
  }),
];

let link: (url: string) => void = () => {};

describe("a sensitive value", () => {
  const database = testDatabase({ isOwn: true });
  const told: unknown[] = [];
  let server: NodeServer;
  beforeEach(async () => {
    told.length = 0;
    const note = (...what: unknown[]) => void told.push(...what);
    server = await serve({
      ...{ workflows, database: database.query, secrets: [secret], port: 0, dashboard: dashboard() },
      ...{ onEvent: note, onLog: note, onError: note },
    });
  });
  afterEach(async () => await server.close());

  const env = () => ({ LAYOVER_URL: server.url, LAYOVER_KEY: key });
  const input = { card: `${word} 4242`, amount: 42 };

  /** All that people may look at of a run. */
  async function screens(runId: string): Promise<Readonly<Record<string, string>>> {
    const headers = { authorization: `Bearer ${key}` };
    const signedIn = await fetch(`${server.url}/dashboard/sign-in`, {
      ...{ method: "POST", body: JSON.stringify({ key }) },
      headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" },
    });
    const cookie = signedIn.headers.get("set-cookie")?.split(";")[0] ?? "";
    const paths = [`/v1/runs/${runId}`, "/v1/runs", `/v1/runs/${runId}/history`];
    const own = `/dashboard/runs/${runId}`;
    const pages = ["/dashboard/", own, `${own}/values/input`, `${own}/values/result`];
    const shown: Record<string, string> = {};
    for (const path of paths) shown[path] = await (await fetch(server.url + path, { headers })).text();
    for (const path of pages) shown[path] = await (await fetch(server.url + path, { headers: { cookie } })).text();
    for (const command of [
      ["show", runId],
      ["show", runId, "--json"],
      ["runs", "--json"],
      ["export", runId],
    ])
      shown[command.join(" ")] = (await layover(command, { env: env() })).stdout;
    return shown;
  }

  test("reaches the code and who waits for the result, and stands on no screen, in no log and in no export", {
    timeout: 180_000,
  }, async () => {
    const asked = new Promise<string>((resolve) => {
      link = resolve;
    });
    const client = new HttpClient({ url: server.url, apiKey: key });
    const run = await client.start(payment, input);
    await client.resolveCallback(await asked, `${word} approved`, { contract: payment });
    await run.signal("code", `${word} code`);
    await expect.poll(async () => (await run.history()).records.length, { timeout: 20_000 }).toBeGreaterThan(4);
    const waiting = await screens(run.runId);
    await run.signal("note", "by hand");
    expect(await run.result({ wait: "30s" })).toEqual([
      ...[`${word} 4242 charged`, `${word} kept`, `${word} approved`, `${word} code`],
      `${word} 4242 at the bank`,
    ]);
    const over = await screens(run.runId);
    for (const shown of [waiting, over]) {
      expect(Object.entries(shown).flatMap(([screen, text]) => (text.includes(word) ? [screen] : []))).toEqual([]);
      expect(Object.entries(shown).flatMap(([screen, text]) => (text.length < 100 ? [screen] : []))).toEqual([]);
      expect(shown[`show ${run.runId}`]).toContain("it is sensitive");
      expect(shown[`/dashboard/runs/${run.runId}`]).toContain("it is sensitive");
    }
    expect(over[`show ${run.runId}`]).toContain("by hand");
    expect(JSON.stringify(told)).not.toContain(word);
    expect(JSON.stringify(told)).toContain("by hand");

    const without: ExportedRun = JSON.parse(over[`export ${run.runId}`] ?? "");
    expect(await replay(without, { workflows })).toMatchObject({
      ...{ outcome: "blocks", reason: "the run's input cannot be read: it is sensitive" },
    });
    const { stdout } = await layover(["export", run.runId, "--with-secrets"], { env: env() });
    expect(stdout).toContain(word);
    expect(await replay(JSON.parse(stdout), { workflows })).toMatchObject({ outcome: "fits" });
  });

  test("that its schema refuses is not repeated, and the same start again is the same run", {
    timeout: 60_000,
  }, async () => {
    const client = new HttpClient({ url: server.url, apiKey: key });
    const refused = await client.start(payment, { card: `no ${word}`, amount: 1 }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "invalid_input", message: expect.stringContaining("is sensitive") });
    const run = await client.start(payment, input, { id: "p1" });
    expect((await client.start(payment, input, { id: "p1" })).runId).toBe(run.runId);
    const signalled = await run.signal("code", `no ${word}`).catch((error: unknown) => error);
    expect(signalled).toMatchObject({ code: "invalid_payload" });
    for (const error of [refused, signalled]) expect(JSON.stringify([error, String(error)])).not.toContain(word);
    expect(JSON.stringify(told)).not.toContain(word);
  });

  test("is named by a place that the contract has", () => {
    const withPlace = (place: string) => () =>
      workflow({ name: "odd", version: 1, signals: { code: Card }, sensitive: [place as "input"] });
    expect(withPlace("signals.code")).not.toThrow();
    expect(withPlace("signals.cod")).toThrow(/signals.cod/);
  });
});
