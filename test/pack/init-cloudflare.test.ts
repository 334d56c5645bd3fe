/** The README's page from an empty account to a run, as far as nobody needs an account for it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { commandsIn, shellWith } from "../readme-blocks.ts";
import { deploy } from "./deployed-worker.ts";
import { aTerminal } from "./terminal.ts";

const database = testDatabase({ isEmpty: true });

const page = shellWith("wrangler login");
const isOffline = /^(npx layover|npm install|cd|export) /;
const needsAccount = /^(echo "\$\w+" \| )?npx wrangler (login|queues create [\w-]+|secret put \w+)$/;

/** What of these commands can be typed here, with its blanks filled in. The others are told. */
function offline(commands: readonly string[], blanks: Readonly<Record<string, string>>): readonly string[] {
  return commands.flatMap((command) => {
    if (needsAccount.test(command)) {
      console.log(`not run: needs an account: ${command}`);
      return [];
    }
    const filled = Object.entries(blanks).reduce((text, [blank, value]) => text.replace(blank, value), command);
    if (!isOffline.test(`${filled} `) || filled.includes("…")) throw new Error(`no test knows the command: ${command}`);
    return [filled];
  });
}

test("the README's ten commands make of an empty folder a Worker that carries an order to its end", {
  timeout: 180_000,
}, async () => {
  expect(page.match(/^\S/gm)).toHaveLength(10);
  const commands = commandsIn(page);
  const deployed = commands.indexOf("npx wrangler deploy");
  expect(deployed).toBeGreaterThan(0);
  const { folder, type } = await aTerminal();
  const first = offline(commands.slice(0, deployed), { "'…'": `'${database.url}'` });
  const secret = lastLine(await type([...first, 'echo "$LAYOVER_SECRET"'].join("\n")));

  const cwd = join(folder, "orders");
  const config = join(cwd, "wrangler.toml");
  const written = readFileSync(config, "utf8");
  writeFileSync(config, written.replace("https://orders.invalid", "https://orders.shop.workers.dev"));
  await type("npm run typecheck", { cwd });
  const worker = await deploy({ folder: cwd, secrets: { LAYOVER_SECRET: secret }, databaseUrl: database.url });

  const env = { DATABASE_URL: database.url, LAYOVER_SECRET: secret };
  const then = offline(commands.slice(deployed + 1), { "https://…": worker.url });
  const runAndKey = (await type([...then, 'echo "$LAYOVER_KEY"'].join("\n"), { cwd, env })).trim();
  const [runId, key = ""] = runAndKey.split("\n");
  const [url] = await worker.untilSaid(/https:\/\/orders\.shop\.workers\.dev\/callbacks\/[\w.-]+/);
  const asking = { LAYOVER_URL: worker.url, LAYOVER_KEY: key };
  expect(await type(`npx layover show ${runId}`, { cwd, env: asking })).toContain("approval");

  const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
  const body = '{"ok": true}';
  expect((await fetch(worker.url + new URL(url).pathname, { method: "POST", headers, body })).status).toBe(200);
  const ended = await fetch(`${worker.url}/v1/runs/${runId}/result?wait=30s`, { headers });
  expect(await ended.json()).toMatchObject({ status: "completed", result: { address: { city: "London" } } });
  expect(await worker.ring()).toBe("ok");
});

function lastLine(written: string): string {
  return written.trim().split("\n").at(-1) ?? "";
}
