/** Values that a workflow calls sensitive: a story with one at each place, and nobody is shown any of them. */
import { NonRetryableError, workflow } from "layover";
import { dashboard } from "layover/dashboard";
import { telemetry } from "layover/telemetry";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { HttpClient } from "../../src/client/over-http/http-client.ts";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { type NodeServer, serve } from "../../src/platform/node/index.ts";
import { type ExportedRun, replay } from "../../src/testing.ts";
import { collecting } from "../platform/collecting.ts";
import { testDatabase } from "../postgres/database.ts";
import { layover, secret, secrets } from "./layover.ts";

/** A word that stands in every sensitive value, and nowhere else. */
const word = "tulip";
const key = createApiKey(secrets, { name: "test", namespace: "default", scopes });

const isCard = (value: unknown) => String(value).startsWith(word);
const tell = ({ input }: { readonly input?: unknown }) => `${String(input)} is no card`;
/** A schema whose complaints repeat the value. */
const Card = z.string().refine(isCard, { error: tell });

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
const lost = workflow({ name: "lost", version: 1, output: z.number(), signals: { go: z.unknown() } });
const asking = workflow({
  name: "asking",
  version: 1,
  signals: { code: Card },
  callbacks: { card: z.object({ number: Card, amount: z.number() }), any: z.unknown().refine(isCard, { error: tell }) },
  sensitive: ["signals.code", "callbacks.card", "callbacks.any"],
});
const workflows = [
  lost.handler(async ({ step }) => {
    const token = await step.run(
      "token",
      (): string => {
        throw new NonRetryableError("their answer was lost");
      },
      { sensitive: true },
    );
    await step.waitForSignal("go");
    return token.length;
  }),
  asking.handler(async ({ step }) => {
    const card = step.createCallback("card");
    const any = step.createCallback("any");
    link(JSON.stringify([card.url, any.url]));
    await step.waitForSignal("code");
  }),
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

const collected = collecting();

describe("a sensitive value", () => {
  const database = testDatabase({ isOwn: true });
  const told: unknown[] = [];
  let server: NodeServer;
  beforeEach(async () => {
    told.length = 0;
    const note = (...what: unknown[]) => void told.push(...what);
    server = await serve({
      ...{ workflows, database: database.query, secrets: [secret], port: 0, dashboard: dashboard() },
      telemetry: telemetry(),
      ...{ onEvent: note, onLog: note, onError: note },
    });
  });
  afterEach(async () => await server.close());

  const env = () => ({ LAYOVER_URL: server.url, LAYOVER_KEY: key });
  const input = { card: `${word} 4242`, amount: 42 };

  /** The cookie of somebody who has signed in to the dashboard. */
  async function signedIn(): Promise<string> {
    const answer = await fetch(`${server.url}/dashboard/sign-in`, {
      ...{ method: "POST", body: JSON.stringify({ key }) },
      headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" },
    });
    return answer.headers.get("set-cookie")?.split(";")[0] ?? "";
  }

  /** All that people may look at of a run, the traces of all of them included. */
  async function screens(runId: string, { isOver = false } = {}): Promise<Readonly<Record<string, string>>> {
    const headers = { authorization: `Bearer ${key}` };
    const cookie = await signedIn();
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
      ...(isOver
        ? [
            ["tail", runId],
            ["tail", runId, "--json"],
          ]
        : []), // they follow a run until it is over
    ])
      shown[command.join(" ")] = (await layover(command, { env: env() })).stdout;
    shown["spans"] = JSON.stringify(
      collected
        .spans()
        .map(({ name, attributes, events, links, status }) => ({ name, attributes, events, links, status })),
    );
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
    await expect.poll(async () => (await run.history()).records.length).toBeGreaterThan(4);
    const waiting = await screens(run.runId);
    await run.signal("note", "by hand");
    expect(await run.result({ wait: "30s" })).toEqual([
      ...[`${word} 4242 charged`, `${word} kept`, `${word} approved`, `${word} code`],
      `${word} 4242 at the bank`,
    ]);
    const over = await screens(run.runId, { isOver: true });
    for (const shown of [waiting, over]) {
      expect(Object.entries(shown).flatMap(([screen, text]) => (text.includes(word) ? [screen] : []))).toEqual([]);
      expect(Object.entries(shown).flatMap(([screen, text]) => (text.length < 100 ? [screen] : []))).toEqual([]);
      expect(shown[`show ${run.runId}`]).toContain("it is sensitive");
      expect(shown[`/dashboard/runs/${run.runId}`]).toContain("it is sensitive");
    }
    expect(over[`show ${run.runId}`]).toContain("by hand");
    for (const name of ["charge", "keep", "wait for signal code", "turn bank"]) expect(over["spans"]).toContain(name);
    expect(over[`tail ${run.runId} --json`]).toContain("completed");
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

  test("that its schema refuses is not repeated, and the same start again is the same run", async () => {
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

  test("that a person gives for a lost result is as sensitive as the person says", { timeout: 180_000 }, async () => {
    const client = new HttpClient({ url: server.url, apiKey: key });
    const run = await client.start(lost);
    await expect.poll(async () => (await run.get()).status).toBe("failed");
    const retry = ["retry", run.runId, "--result", `token="${word}"`, "--sensitive"];
    expect(await layover(retry, { env: env() })).toMatchObject({ status: 0 });
    await expect.poll(async () => (await run.get()).status).toBe("waiting");
    const shown = await screens(run.runId);
    expect(Object.entries(shown).flatMap(([screen, text]) => (text.includes(word) ? [screen] : []))).toEqual([]);
    expect(shown[`show ${run.runId}`]).toContain("it is sensitive");
    expect(JSON.stringify(told)).not.toContain(word);
  });

  test("stands on no page that refuses it, and in no field of a form", async () => {
    const asked = new Promise<string>((resolve) => {
      link = resolve;
    });
    const client = new HttpClient({ url: server.url, apiKey: key });
    const run = await client.start(asking);
    const [card, any]: readonly string[] = JSON.parse(await asked);
    const send = async (url: string | undefined, fields: Record<string, string>) => {
      const headers = { "content-type": "application/x-www-form-urlencoded", accept: "text/html" };
      const response = await fetch(url ?? "", {
        method: "POST",
        headers,
        body: new URLSearchParams(fields).toString(),
      });
      return [response.status, await response.text()] as const;
    };
    const filled = { "layover-form": "1", "answer.number": `no ${word}`, "answer.amount": "7" };
    const [status, page] = await send(card, filled);
    expect([status, page.includes(word), page.includes("does not fit")]).toEqual([422, false, true]);
    for (const payload of [`"no ${word}"`, `{"a": "${word}`]) {
      const [refused, json] = await send(any, { payload });
      expect([refused >= 400, json.includes("<textarea"), json.includes(word)]).toEqual([true, true, false]);
    }
    const headers = { "content-type": "application/json", "sec-fetch-site": "same-origin", cookie: await signedIn() };
    const acts = [
      [`runs/${run.runId}/signal`, { name: "code", answer: `no ${word}` }],
      ["workflows/payment/start", { version: "1", "answer.card": `no ${word}`, "answer.amount": "7" }],
    ] as const;
    for (const [path, texts] of acts) {
      const answer = await fetch(`${server.url}/dashboard/${path}`, {
        method: "POST",
        headers,
        body: JSON.stringify(texts),
      });
      const said = await answer.text();
      expect([answer.status, said.includes(word), said.includes("does not fit")]).toEqual([422, false, true]);
    }
    expect(JSON.stringify(told)).not.toContain(word);
  });

  test("is named by a place that the contract has", () => {
    const withPlace = (place: string) => () =>
      workflow({ name: "odd", version: 1, signals: { code: Card }, sensitive: [place as "input"] });
    expect(withPlace("signals.code")).not.toThrow();
    expect(withPlace("signals.cod")).toThrow(/signals.cod/);
  });
});
