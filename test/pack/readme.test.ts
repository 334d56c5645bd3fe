import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { blocksIn, shellWith, writeFiles } from "../readme-blocks.ts";
import { deploy } from "./deployed-worker.ts";
import { secretsIn, serve } from "./project.ts";
import { aTerminal, type Terminal } from "./terminal.ts";

const database = testDatabase({ isEmpty: true, isOwn: true });

/** A Worker that takes what Stripe delivers, by the README's webhook. */
const workerWithStripe = `
import { serve } from "layover/cloudflare";
import { neon } from "layover/neon";
import { stripe } from "./webhooks/stripe.ts";
import { type Env, wiring } from "./wiring.ts";

interface EnvWithStripe extends Env {
  readonly STRIPE_SECRET: string;
}
export default serve<EnvWithStripe>({ ...wiring, webhooks: [stripe], database: (env) => neon(env.DATABASE_URL) });
`;

/** The last line of a block, if it serves. The lines before it end by themselves. */
const serving = /^npm (run dev|start)\b.*\n$/m;

interface Access {
  readonly key: string;
  /** Name of the file in which the key stands. */
  readonly envFile: string;
}

/** Migrates, makes a key, and writes it into the environment file for the commands that follow. */
async function setUpDatabase({ folder, type }: Terminal, envFile: string): Promise<Access> {
  appendFileSync(join(folder, envFile), `DATABASE_URL=${database.url}\n`);
  const written = await type(shellWith("--sql prints it").replace(serving, ""));
  const key = written.trim().split("\n").at(-1) ?? "";
  expect(key).toMatch(/^lok_/);
  appendFileSync(join(folder, envFile), `LAYOVER_KEY=${key}\n`);
  return { key, envFile };
}

interface Deployment {
  readonly url: string;
  readonly untilSaid: (pattern: RegExp) => Promise<RegExpExecArray>;
}

/**
 * Starts an order with the README's start.ts, and waits until somebody has to approve it. Answers how to approve it,
 * and how to get its result.
 */
async function started({ type }: Terminal, { url, untilSaid }: Deployment, { key, envFile }: Access) {
  const [runId] = (await type(`node --env-file=${envFile} start.ts`, { env: { LAYOVER_URL: url } })).split(" ");
  expect(await type("npx layover runs --json", { env: { LAYOVER_URL: url } })).toContain(runId);
  const [callback] = await untilSaid(/\/callbacks\/[\w.-]+/);
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return {
    approve: async (at: string) => {
      const approved = await fetch(at + callback, { method: "POST", headers, body: '{"ok": true}' });
      expect(approved.status).toBe(200);
    },
    result: async (at: string) => await (await fetch(`${at}/v1/runs/${runId}/result?wait=30s`, { headers })).json(),
  };
}

const completed = {
  status: "completed",
  result: { charge: expect.stringMatching(/^charge_/), parcels: [expect.stringMatching(/^parcel_/)] },
};

test("the README's lines and files, as they stand, are a project on Node that carries an order to its end", {
  timeout: 180_000,
}, async () => {
  const terminal = await aTerminal();
  const { folder, type } = terminal;
  await type(shellWith("init --on node").replace(serving, ""));
  // The rest is what init writes: the README shows its order, shortened.
  expect(writeFiles(folder)).toEqual([
    "start.ts",
    "functions/webhook.ts",
    "functions/webhooks/stripe.ts",
    "functions/workflows/digest.ts",
    "functions/workflows/order.test.ts",
  ]);
  writeFileSync(join(folder, "functions/workflows/shortened.ts"), blocksIn("ts")[0] ?? "");
  await type("npm run typecheck");

  const access = await setUpDatabase(terminal, ".env");
  const server = await serve(folder);
  const { approve, result } = await started(terminal, server, access);
  await server.kill();
  const { url } = await serve(folder);
  await approve(url);
  // The process may have died before its last result was recorded: then its lease holds for a minute.
  await expect.poll(() => result(url), { timeout: 100_000 }).toMatchObject(completed);
  await type("node --test functions/workflows/order.test.ts");
});

test("the README's lines and files, as they stand, are a Worker that carries an order to its end", {
  timeout: 180_000,
}, async () => {
  const terminal = await aTerminal();
  const { folder, type } = terminal;
  await type(shellWith("init --on node").replace(serving, "").replace("--on node", "--on cloudflare"));
  expect(writeFiles(folder)).toContain("functions/webhooks/stripe.ts");
  writeFileSync(join(folder, "functions/worker-with-stripe.ts"), workerWithStripe);
  await type("npm run typecheck");

  const access = await setUpDatabase(terminal, ".dev.vars");
  const worker = await deploy({ folder, secrets: secretsIn(folder, ".dev.vars"), databaseUrl: database.url });
  const { approve, result } = await started(terminal, worker, access);
  await approve(worker.url);
  expect(await worker.ring()).toBe("ok");
  expect(worker.said()).not.toMatch(/no `(queue|alarm)`/); // it would tell, at its first tick, what that costs
  expect(await result(worker.url)).toMatchObject(completed);
});
