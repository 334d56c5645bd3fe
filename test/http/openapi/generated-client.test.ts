/** A client that a generator of other people makes of the document of a real server: it is typed, and it works. */
import { execFile } from "node:child_process";
import { mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openapi } from "layover/openapi";
import { generateSource } from "oazapfts";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { workflow } from "../../../src/core/contract/contract.ts";
import { createApiKey } from "../../../src/http/api-key.ts";
import { Secrets } from "../../../src/http/secrets.ts";
import { serve } from "../../../src/platform/node/index.ts";
import { secret } from "../../client/a-client.ts";
import { testDatabase } from "../../postgres/database.ts";

const database = testDatabase();

const order = workflow({
  name: "order",
  version: 1,
  input: z.object({ amount: z.number(), items: z.array(z.string()).default([]) }),
  output: z.object({ paid: z.number(), city: z.string(), at: z.date() }),
  signals: { address: z.object({ city: z.string() }) },
  callbacks: { approval: z.object({ ok: z.boolean() }) },
});
const orderWorkflow = order.handler(async ({ input, step }) => {
  const { city } = await step.waitForSignal("address");
  const { ok } = await step.waitForCallback("approval", () => undefined);
  return { paid: ok ? input.amount : 0, city, at: new Date("2026-01-02T03:04:05Z") };
});

/** What a program does with the client. Lines that the compiler must refuse are marked. */
const program = `
import * as api from "./client.ts";

api.defaults.baseUrl = process.env["API_URL"] ?? "";
api.defaults.headers = { authorization: \`Bearer \${process.env["API_KEY"]}\` };

const started = await api.startOrder({ id: "o1", input: { amount: 42 } });
if (started.status !== 201) throw new Error(JSON.stringify(started));
const { runId } = started.data;
const sent = await api.signalOrderAddress("o1", { payload: { city: "Turin" } });
for (;;) {
  const history = await api.getHistory(runId);
  if (history.status === 200 && history.data.pending.some(({ kind }) => kind === "callback")) break;
}
const answered = await api.resolveApproval(runId, { ok: true });
const again = await api.startOrder({ id: "o1", input: { amount: 42 } }, { wait: "30s" });
const run = await api.getOrder("o1");
if (run.status !== 200) throw new Error(JSON.stringify(run));
const result: { paid: number; city: string; at: string } | undefined = run.data.result;
const missing = await api.getOrder("o2");
const code = missing.status === 404 ? missing.data.code : undefined;
console.log(JSON.stringify([sent.status, answered.status, again.status, run.data.status, result, code]));

export async function wrong() {
  // @ts-expect-error: an amount is a number
  await api.startOrder({ input: { amount: "42" } });
  // @ts-expect-error: an order has an input
  await api.startOrder({ id: "o1" });
  // @ts-expect-error: an address has a city
  await api.signalOrderAddress("o1", { payload: {} });
  // @ts-expect-error: the result is no text
  const text: string = run.data.result;
  // @ts-expect-error: a field that no start has
  await api.startOrder({ input: { amount: 1 }, colour: "red" });
  return text;
}
`;

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Runs a program of Node's. What it prints is told if it fails. */
async function node(folder: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  const options = { cwd: folder, env: { PATH: process.env["PATH"], ...env } };
  const failed = ({ stdout, stderr }: { stdout: string; stderr: string }) => {
    throw new Error(`${args.join(" ")}\n${stdout}${stderr}`);
  };
  return (await promisify(execFile)(process.execPath, [...args], options).catch(failed)).stdout;
}

test("a generated client starts a run, signals it, answers its callback and reads its result, all typed", async () => {
  const server = await serve({
    workflows: [orderWorkflow],
    database: database.query,
    secrets: [secret],
    port: 0,
    prefix: "/layover",
    openapi: openapi(),
  });
  onTestFinished(async () => await server.close());
  const key = createApiKey(new Secrets([secret]), {
    name: "test",
    namespace: "default",
    scopes: ["start", "read", "signal", "callbacks"],
  });
  const headers = { authorization: `Bearer ${key}` };
  const document = await (await fetch(`${server.url}/openapi.json`, { headers })).text();

  const folder = mkdtempSync(join(tmpdir(), "layover-generated-"));
  const file = (name: string, text: string) => writeFileSync(join(folder, name), text);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "dir");
  file("openapi.json", document);
  file("client.ts", await generateSource(join(folder, "openapi.json")));
  file("program.ts", program);
  file("package.json", '{ "type": "module" }');
  const options = ["--strict", "--noEmit", "--skipLibCheck", "--allowImportingTsExtensions", "--module", "nodenext"];
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  await node(folder, [tsc, ...options, "--types", "node", "--target", "es2024", "program.ts"]);
  const printed = await node(folder, ["program.ts"], { API_URL: server.url, API_KEY: key });
  const result = { paid: 42, city: "Turin", at: "2026-01-02T03:04:05.000Z" };
  expect(JSON.parse(printed)).toEqual([202, 200, 200, "completed", result, "unknown_run"]);
});
