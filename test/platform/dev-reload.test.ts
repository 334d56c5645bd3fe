import { appendFileSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { madeFolder } from "./databases.ts";
import { DevServer } from "./dev-server.ts";

const made = madeFolder();
const contract = join(import.meta.dirname, "../../src/core/contract/contract.ts");

let folder: string;
let servers: DevServer[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "layover-reload-"));
  servers = [];
  made.copyTo(join(folder, "data"));
  writeFileSync(join(folder, "price.ts"), "export const price = 1;\n");
  writeFileSync(
    join(folder, "workflows.ts"),
    `
import { appendFileSync, readFileSync } from "node:fs";
import { workflow } from ${JSON.stringify(contract)};
import { price } from "./price.ts";

const begun = ${JSON.stringify(join(folder, "begun"))};
const note = (name: string) => appendFileSync(begun, name + "\\n");

export const order = workflow({ name: "order", version: 1 }).handler(async ({ step }) => {
  await step.run("first", () => note("first"));
  return await step.run("charge", async () => {
    note("charge");
    if (price === 1) await new Promise(() => {}); // only other code ends it
    return price;
  });
});
`,
  );
});
afterEach(async () => {
  for (const server of servers) if (server.isRunning) await server.kill();
  rmSync(folder, { recursive: true });
});

async function aServer(): Promise<DevServer> {
  const server = new DevServer({ data: join(folder, "data"), module: join(folder, "workflows.ts"), reloads: true });
  servers.push(server);
  await server.listening();
  return server;
}

async function start(server: DevServer): Promise<string> {
  return String((await server.api("POST", "/v1/workflows/order/runs", {})).body["runId"]);
}

/** The names of the bodies that were begun. */
function begun(): string[] {
  const file = join(folder, "begun");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
}

const patience = { timeout: 20_000, interval: 50 };

describe("a development server whose files change", () => {
  test("goes on with the new code, in the middle of a step, at the same address", async () => {
    const server = await aServer();
    const runId = await start(server);
    await expect.poll(begun, patience).toEqual(["first", "charge"]);
    writeFileSync(join(folder, "price.ts"), "export const price = 2;\n");
    await server.untilSaid(/price\.ts has changed\.[\s\S]* again\.\n/);
    const { body } = await server.api("GET", `/v1/runs/${runId}/result?wait=15s`);
    expect(body).toMatchObject({ status: "completed", result: 2 });
    expect(begun()).toEqual(["first", "charge", "charge"]);
    expect(await server.kill("SIGTERM")).toBe(0);
  });

  test("waits where the new code cannot be loaded, until it is put right", async () => {
    const server = await aServer();
    appendFileSync(join(folder, "price.ts"), "export const price = ;\n");
    await server.untilSaid(/could not be loaded: [\s\S]*The server begins again when you change a file\.\n/);
    await expect(fetch(`${server.url}/health`)).rejects.toThrow();
    writeFileSync(join(folder, "price.new"), "export const price = 3;\n");
    renameSync(join(folder, "price.new"), join(folder, "price.ts")); // as many editors save
    await server.untilSaid(/order \(version 1\) at \S+ again\.\n/);
    const { body } = await server.api("GET", `/v1/runs/${await start(server)}/result?wait=15s`);
    expect(body).toMatchObject({ status: "completed", result: 3 });
  });

  test("ends with what began it, however that ends, and its folder is free for the next one", async () => {
    const first = await aServer();
    await first.kill(); // resolves when nobody holds its output any more
    const second = await aServer();
    expect(second.key).toBe(first.key);
  });

  test("ends where the code cannot be loaded when it begins", async () => {
    writeFileSync(join(folder, "price.ts"), 'export const price = 1;\nthrow new Error("no such setting");\n');
    await expect(aServer()).rejects.toThrow(/could not be loaded: Error: no such setting/);
  });
});
