/** The projects for hosts that call a function, on their real runtimes, woken by the alarm on the real workerd. */
import { globSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "../free-port.ts";
import { ServerProcess } from "../platform/server-process.ts";
import { testDatabase } from "../postgres/database.ts";
import { alarmProject, deployAlarm } from "./deployed-alarm.ts";
import { carryOrderToItsEnd } from "./order.ts";
import { aProject, scriptIn, secretsIn } from "./project.ts";
import { run } from "./run.ts";

const database = testDatabase({ isEmpty: true });
const modules = fileURLToPath(new URL("../../node_modules/", import.meta.url));
/** The programs as npm has brought them. The scripts that would put them elsewhere were not run. */
const bun = programIn("@oven/*/bin/bun{,.exe}");
const deno = programIn("@deno/*/deno{,.exe}");

function programIn(pattern: string): string {
  const [program] = globSync(pattern, { cwd: modules });
  if (program === undefined) throw new Error(`npm has brought no ${pattern} for this machine`);
  return join(modules, program);
}

/** A server of Node's around what a host would call. */
const nodeServer = `
import { serve } from "@hono/node-server";
const { default: { fetch } } = await import(process.argv[2]);
serve({ fetch: (request) => fetch(request), port: Number(process.env.PORT) }, () => console.log("Listening on"));
`;

/** Starts a run that is ready, and tells nobody of it. Answers its id. */
async function readyRun(): Promise<string> {
  const input = { customer: "Ada", amount: 42, items: [], address: { street: "1 Rose St", city: "London" } };
  const { rows } = await database.pool.query("select layover.start_run($1) as answer", [
    JSON.stringify({ workflow: "order", version: 1, input }),
  ]);
  return String(rows[0].answer.runId);
}

async function records(runId: string): Promise<unknown> {
  const { rows } = await database.pool.query("select count(*)::int from layover.record where run_id = $1", [runId]);
  return rows[0].count;
}

test("one project runs on Bun, Deno and Node, and the alarm wakes it on each of them", {
  timeout: 240_000,
}, async () => {
  const [{ folder, key }, alarm] = await Promise.all([aProject("bun", database.url), alarmProject()]);
  writeFileSync(join(folder, "node-server.mjs"), nodeServer);
  const alarmKey = (await run("npx", ["layover", "keys", "alarm"], { cwd: folder })).trim();
  expect(scriptIn(folder, "start")).toBe("bun functions/fetch.ts");
  const serve = "serve --env-file --allow-env --allow-net --allow-read --allow-sys";
  for (const [command, ...args] of [
    [bun, "functions/fetch.ts"],
    [deno, ...serve.split(" "), "--port", "PORT", "functions/fetch.ts"],
    [process.execPath, "node-server.mjs", "./functions/fetch.ts"],
  ]) {
    const port = String(await freePort());
    const url = `http://127.0.0.1:${port}`;
    const address = await deployAlarm(alarm, { url, key: alarmKey });
    const begin = async (deployment: string): Promise<ServerProcess> => {
      const env = { ...secretsIn(folder, ".env"), PORT: port, PUBLIC_URL: url, LAYOVER_ALARM: address };
      const server = new ServerProcess(
        args.map((arg) => (arg === "PORT" ? port : arg)),
        { cwd: folder, command, env: { ...env, LAYOVER_DEPLOYMENT: `${command} ${deployment}` } },
      );
      onTestFinished(async () => void (await server.kill()));
      await server.untilSaid(/listening on|started .*server/i);
      return server;
    };
    const began = performance.now();
    const server = await begin("one");
    const bare = await readyRun();
    await carryOrderToItsEnd({ url, key, untilSaid: (pattern) => server.untilSaid(pattern) });
    await expect.poll(() => records(bare), { timeout: 15_000 }).toBeGreaterThan(0);
    console.log(command, Math.round(performance.now() - began));
    const env = { ...secretsIn(folder, ".env"), LAYOVER_URL: url, LAYOVER_ALARM: address, LAYOVER_KEY: key };
    expect(await run("npx", ["layover", "doctor"], { cwd: folder, env })).toMatch(/It last rang at/);
    await server.kill();
  }
});
