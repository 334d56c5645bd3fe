import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { withStore } from "layover/store";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { workflow } from "../../src/core/contract/contract.ts";
import { serve } from "../../src/platform/node/index.ts";
import { testDatabase } from "../postgres/database.ts";
import { MemoryStore } from "../postgres/store/memory-store.ts";
import { aFolder, commandLine, layover, secret } from "./layover.ts";

const core = pathToFileURL(join(import.meta.dirname, "../../src/core/contract/contract.ts")).href;
const trip = workflow({ name: "trip", version: 1 });
const database = testDatabase();
let folder: string;
let runId: string;

/** Code of the workflow, whose handler begins at line 4. */
function aModule(body: string): string {
  const file = join(folder, "workflows.ts");
  writeFileSync(
    file,
    `import { workflow } from ${JSON.stringify(core)};
const contract = workflow({ name: "trip", version: 1 });
export const trip = contract.handler(async ({ step }) => {
${body}
});
`,
  );
  return file;
}

const same = `  const packed = await step.run("pack", () => { throw new Error("no body is called"); });
  const weight = packed.bags * 20;
  await step.run("weigh", () => weight);
  await step.sleep("nap", "30 days");`;

/** A run that has packed and weighed, and sleeps. */
beforeEach(async () => {
  folder = aFolder();
  const handler = trip.handler(async ({ step }) => {
    await step.run("pack", () => ({ bags: 2 }));
    await step.run("weigh", () => 40);
    await step.sleep("nap", "30 days");
  });
  const server = await serve({
    ...{ workflows: [handler], database: database.query, secrets: [secret], port: 0 },
    onEvent: () => {},
  });
  try {
    const run = await server.client.start(trip);
    await expect.poll(async () => (await run.get()).status).toBe("sleeping");
    runId = run.runId;
  } finally {
    await server.close();
  }
});

const replay = (...args: readonly string[]) =>
  layover(["replay", ...args], { env: { DATABASE_URL: database.url }, folder });

test("is refused where a value is kept in a store, and so is replay-check: they say how large it is, and where", async () => {
  const stored = withStore(database.query, { store: new MemoryStore(), above: 10 });
  const packs = trip.handler(async ({ step }) => {
    await step.run("pack", () => ({ bags: 2 }));
    await step.sleep("nap", "30 days");
  });
  const terms = { workflows: [packs], database: stored, secrets: [secret], port: 0 };
  const server = await serve({ ...terms, namespace: "stored", onEvent: () => {} });
  onTestFinished(() => server.close());
  const run = await server.client.start(trip);
  await expect.poll(async () => (await run.get()).status).toBe("sleeping");
  const env = { DATABASE_URL: database.url, LAYOVER_NAMESPACE: "stored" };
  const module = aModule(same);
  for (const args of [
    ["replay", run.runId, module],
    ["replay-check", module],
  ]) {
    const { status, stderr } = await layover(args, { env, folder });
    expect([args[0], status, stderr]).toEqual([
      args[0],
      1,
      expect.stringMatching(
        /is kept in a store, 18 bytes under "stored\/[0-9a-f-]{36}\/[0-9a-f-]{36}", and this command has no store/,
      ),
    ]);
  }
});

describe("layover replay", () => {
  test("tells what each step answered, which line asked for it, and where the run stands", async () => {
    const { status, stdout } = await replay(runId, aModule(same));
    expect(stdout).toMatch(/^trip version 1, run \S+: sleeping$/m);
    expect(stdout).toMatch(/^1 +step +pack +\{"bags":2\} +workflows\.ts:4:\d+$/m);
    expect(stdout).toMatch(/^2 +step +weigh +40 +workflows\.ts:6:\d+$/m);
    expect(stdout).toMatch(/^It asks for sleep nap workflows\.ts:7:\d+$/m);
    expect(stdout).toMatch(/^The code fits\.$/m);
    expect(status).toBe(0);
  });

  test("tells where code does not fit, and what the history holds", async () => {
    const module = aModule(`  await step.run("pack", () => 1);\n  await step.run("fly", () => 1);`);
    const { status, stdout } = await replay(runId, module);
    expect(stdout).toContain("The run would be blocked after 1 record");
    expect(stdout).toContain("The history holds: step weigh");
    expect(status).toBe(2);
    expect(JSON.parse((await replay(runId, module, "--json")).stdout)).toMatchObject({ runId, outcome: "blocks" });
  });

  test("refuses what it cannot find, and says what to do", async () => {
    const module = aModule(same);
    const none = "00000000-0000-7000-8000-000000000000";
    expect(await replay(none, module)).toMatchObject({ status: 1, stderr: expect.stringContaining("There is no run") });
    expect(await replay("nothing", module)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("WORKFLOW/ID"),
    });
    const file = join(folder, "run.json");
    writeFileSync(file, "{");
    expect(await replay(file, module)).toMatchObject({ status: 1, stderr: expect.stringContaining("holds no JSON") });
    writeFileSync(file, "{}");
    expect(await replay(file, module)).toMatchObject({ status: 1, stderr: expect.stringContaining("no exported run") });
    expect(await replay(runId, module, "--version", "2")).toMatchObject({
      ...{ status: 1, stderr: expect.stringContaining("no version 2 of trip") },
    });
  });

  test("stops at a breakpoint in the workflow, among the values that production had", async () => {
    const { command, args, options } = commandLine(["replay", runId, aModule(same), "--inspect", "0"], {
      ...{ env: { DATABASE_URL: database.url }, folder },
    });
    const child = spawn(command, args, options);
    onTestFinished(() => void child.kill("SIGKILL"));
    const stdout = text(child.stdout);
    const debug = await aDebugger(await listening(child.stderr));
    await debug.ask("Debugger.enable");
    await debug.ask("Debugger.setBreakpointByUrl", { urlRegex: ".*/workflows\\.ts$", lineNumber: 5 });
    const pausing = debug.heard("Debugger.paused");
    await debug.ask("Runtime.runIfWaitingForDebugger");
    const { callFrames } = await pausing;
    const frame = { callFrameId: callFrames[0].callFrameId };
    const weight = await debug.ask("Debugger.evaluateOnCallFrame", {
      ...frame,
      expression: "[packed.bags, weight]+''",
    });
    expect(weight.result.value).toBe("2,40");
    await debug.ask("Debugger.resume");
    debug.close();
    expect(await stdout).toContain("The code fits.");
  });
});

/** Waits until Node says where its inspector listens. */
async function listening(stderr: AsyncIterable<Buffer>): Promise<string> {
  let said = "";
  for await (const chunk of stderr) {
    said += String(chunk);
    const [url] = /ws:\/\/\S+/.exec(said) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error(`no inspector: ${said}`);
}

/** Speaks the protocol of Chrome's developer tools, as an editor does. */
async function aDebugger(url: string) {
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", reject);
  });
  let asked = 0;
  const until = (isWanted: (message: { id?: number; method?: string }) => boolean) =>
    new Promise<Answer>((resolve) =>
      socket.addEventListener("message", ({ data }) => {
        const message = JSON.parse(String(data));
        if (isWanted(message)) resolve(message.result ?? message.params);
      }),
    );
  return {
    ask(method: string, params: object = {}): Promise<Answer> {
      const id = ++asked;
      const answer = until((message) => message.id === id);
      socket.send(JSON.stringify({ id, method, params }));
      return answer;
    },
    heard: (method: string) => until((message) => message.method === method),
    close: () => socket.close(),
  };
}

interface Answer {
  readonly result: { readonly value: unknown };
  readonly callFrames: readonly [{ readonly callFrameId: string }];
}
