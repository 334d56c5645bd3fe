/** The page from an empty account to a run on AWS, as far as nobody needs an account for it. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { AwsCloud } from "../aws/cloud.ts";
import { testDatabase } from "../postgres/database.ts";
import { openNeonEndpoint } from "../postgres/neon-endpoint.ts";
import { commandsIn, shellWith } from "../readme-blocks.ts";
import { aTerminal } from "./terminal.ts";

const database = testDatabase({ isEmpty: true });

const page = shellWith("cdk bootstrap");
const needsAccount = /^(aws |npx cdk bootstrap)/;

/** What of these commands can be typed here. The others are told. */
function offline(commands: readonly string[]): readonly string[] {
  return commands.filter((command) => {
    if (needsAccount.test(command)) console.log(`not run: needs an account: ${command}`);
    return !needsAccount.test(command);
  });
}

test("the page's ten commands make of an empty folder a stack that carries an order to its end", {
  timeout: 240_000,
}, async () => {
  expect(page.match(/^\S/gm)).toHaveLength(10);
  const commands = commandsIn(page);
  const deployed = commands.findIndex((command) => command.startsWith("npm run deploy"));
  expect(deployed).toBeGreaterThan(0);
  const { folder, type } = await aTerminal();
  const first = offline(commands.slice(0, deployed)).map((command) => command.replace("'…'", `'${database.url}'`));
  const secret = lastLine(await type([...first, 'echo "$LAYOVER_SECRET"'].join("\n")));
  const cwd = join(folder, "orders");
  await type("npm run typecheck", { cwd });

  // What `cdk deploy` does before it asks AWS for anything.
  await type("npx cdk synth --quiet", { cwd });
  const cloud = await deploy(join(cwd, "cdk.out"), secret);

  const env = { DATABASE_URL: database.url, LAYOVER_SECRET: secret };
  const then = commands.slice(deployed + 1).map((command) => command.replace("https://…", cloud.url));
  const [runId, key = ""] = (await type([...then, 'echo "$LAYOVER_KEY"'].join("\n"), { cwd, env })).trim().split("\n");
  const path = () => /https?:[\w.:/-]+(\/callbacks\/[\w.-]+)/.exec(cloud.output.join("\n"))?.[1];
  await expect.poll(path).toBeDefined();
  const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
  const answered = await fetch(`${cloud.url}${path()}`, { method: "POST", headers, body: '{"ok": true}' });
  expect(answered.status).toBe(200);
  const ended = await fetch(`${cloud.url}/v1/runs/${runId}/result?wait=20s`, { headers });
  expect(await ended.json()).toMatchObject({ status: "completed", result: { address: { city: "London" } } });
});

/** Deploys what was synthesized. */
async function deploy(out: string, secret: string): Promise<AwsCloud> {
  const code = readdirSync(out)
    .map((name) => join(out, name))
    .find((path) => path.includes("asset.") && readdirSync(path).includes("index.mjs"));
  const endpoint = await openNeonEndpoint(database.url);
  const url = new URL(database.url);
  url.host = "ep-quiet-river-a1b2c3.eu-central-1.aws.neon.tech";
  const hook = new URL("../aws/neon-elsewhere.mjs", import.meta.url);
  const cloud = await AwsCloud.open({
    template: JSON.parse(readFileSync(join(out, "orders.template.json"), "utf8")),
    code: code ?? "",
    parameters: { "/orders/secret": secret, "/orders/database-url": url.href },
    variables: { FETCH_ENDPOINT: endpoint.fetchEndpoint, NODE_OPTIONS: `--import=${hook.href}` },
  });
  onTestFinished(async () => {
    await cloud.close();
    await endpoint.close();
  });
  return cloud;
}

function lastLine(written: string): string {
  return written.trim().split("\n").at(-1) ?? "";
}
