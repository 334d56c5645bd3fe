import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { HttpClient } from "../../src/client/over-http/http-client.ts";
import type { Run } from "../../src/client/run.ts";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { type NodeServer, serve } from "../../src/platform/node/index.ts";
import { testDatabase } from "../postgres/database.ts";
import { layover, secret, secrets } from "./layover.ts";
import { first, firstWorkflow, secondWorkflow } from "./upgraded-workflows.ts";

const key = createApiKey(secrets, { name: "test", namespace: "default", scopes });
const lesser = createApiKey(secrets, { name: "lesser", namespace: "default", scopes: ["start", "read"] });
const code = join(import.meta.dirname, "upgraded-workflows.ts");
type Trip = Run<typeof first>;

describe("layover upgrade", () => {
  const database = testDatabase({ isOwn: true });
  let servers: NodeServer[] = [];
  beforeEach(async () => {
    const options = { workflows: [firstWorkflow, secondWorkflow], database: database.query, secrets: [secret] };
    servers = [
      await serve({ ...options, port: 0, onEvent: () => {} }),
      await serve({ ...options, port: 0, onEvent: () => {} }),
    ];
  });
  afterEach(async () => {
    for (const server of servers) await server.close();
  });

  const clientOf = (index: number) => new HttpClient({ url: servers[index]?.url ?? "", apiKey: key });
  const upgrade = (args: readonly string[], apiKey = key) =>
    layover(["upgrade", "trip", code, "--from", "1", "--to", "2", ...args], {
      env: { DATABASE_URL: database.url, LAYOVER_URL: servers[0]?.url ?? "", LAYOVER_KEY: apiKey },
    });
  const start = (load: "plain" | "odd" | "old", index = 0): Promise<Trip> => clientOf(index).start(first, { load });
  const untilWaiting = (run: Trip) =>
    expect.poll(async () => (await run.get()).status, { timeout: 30_000 }).toBe("waiting");
  async function parked(load: "plain" | "odd" | "old"): Promise<Trip> {
    const run = await start(load);
    await untilWaiting(run);
    return run;
  }
  const versionOf = async (run: Trip) => (await run.get()).version;

  test("moves what fits and nothing else, and says why", { timeout: 120_000 }, async () => {
    expect(await upgrade([])).toMatchObject({ status: 4, stdout: expect.stringContaining("Nothing was examined") });
    const [plain, odd, old, sent] = [
      await parked("plain"),
      await parked("odd"),
      await parked("old"),
      await parked("plain"),
    ];
    await sent.signal("go", "x");
    const dry = await upgrade(["--dry-run"]);
    expect(dry).toMatchObject({ status: 2, stderr: "" });
    expect(dry.stdout).toContain("4 runs: 1 fit, 2 refused by the version's contract, 1 would be blocked.");
    expect(dry.stdout).toContain("Nothing was moved.");
    expect(await versionOf(plain)).toBe(1);

    expect(await upgrade([], lesser)).toMatchObject({ status: 1, stderr: expect.stringContaining("scope admin") });
    const { status, stdout } = await upgrade(["--json", "--by", "ada", "--reason", "wrong tax"]);
    expect(status).toBe(2);
    const { counts, runs } = JSON.parse(stdout);
    expect(counts).toEqual({ moved: 1, refused: 2, blocks: 1 });
    const reasonOf = ({ runId }: Trip) => runs.find((run: { runId: string }) => run.runId === runId)?.reason;
    expect(reasonOf(odd)).toMatch(/step pack .* step unpack/);
    expect(reasonOf(old)).toMatch(/the input of workflow "trip"/);
    expect(reasonOf(sent)).toMatch(/the signal "go", which it has not taken/);
    expect(await Promise.all([plain, odd, old, sent].map(versionOf))).toEqual([2, 1, 1, 1]);
    expect((await plain.history()).operations).toMatchObject([{ verb: "upgrade", by: "ada", reason: "wrong tax" }]);

    expect(JSON.parse((await upgrade(["--json"])).stdout).counts).toEqual({ refused: 2, blocks: 1 });
    await plain.signal("gate", "a");
    await plain.signal("go", "north");
    expect(await plain.result({ wait: "30s" })).toBe("2 a north");
  });

  test("leaves the exit code 0 where all were moved, and looks at the runs that are named alone", {
    timeout: 120_000,
  }, async () => {
    const [one, other] = [await parked("plain"), await parked("odd")];
    expect(await upgrade(["--run", one.runId])).toMatchObject({ status: 0, stdout: "1 run: 1 moved.\n" });
    expect(await upgrade(["--run", other.runId])).toMatchObject({ status: 2 });
  });

  test("works beside runs that start, step, get signals and are cancelled, and each ends right", {
    timeout: 240_000,
  }, async () => {
    const loads = ["plain", "odd", "plain", "old"] as const;
    const runs: { readonly run: Trip; readonly load: (typeof loads)[number]; isCancelled: boolean }[] = [];
    for (let index = 0; index < 24; index += 1) {
      const load = loads[index % 4] ?? "plain";
      runs.push({ run: await start(load, index % 2), load, isCancelled: false });
    }
    const kept = runs.slice(0, 12);
    for (const { run } of kept) await untilWaiting(run);
    let isUpgrading = true;
    const upgrades = (async () => {
      const told = await Promise.all([upgrade(["--json"]), upgrade(["--json"])]); // two at once
      told.push(await upgrade(["--json"]));
      isUpgrading = false;
      return told;
    })();
    for (let index = 0; isUpgrading && index < 300; index += 1) {
      const load = loads[index % 4] ?? "plain";
      if (runs.length < 60) runs.push({ run: await start(load, index % 2), load, isCancelled: false });
      const one = runs[12 + (index % (runs.length - 12))];
      if (one === undefined) continue;
      if (index % 7 === 0 && !one.isCancelled) {
        one.isCancelled = true;
        await one.run.cancel();
      } else if (!one.isCancelled && index % 3 === 0) {
        await one.run.signal("gate", "a", { dedupeId: "gate" }).catch(ignoreOver);
      }
    }
    const told = await upgrades;
    for (const { status } of told) expect([0, 2, 5]).toContain(status);
    for (const { run, isCancelled } of runs) {
      if (isCancelled) continue;
      await run.signal("gate", "a", { dedupeId: "gate" }).catch(ignoreOver);
      await run.signal("go", "north", { dedupeId: "go" }).catch(ignoreOver);
    }
    let moved = 0;
    for (const { run, load, isCancelled } of runs) {
      const isOver = async () => ["completed", "cancelled"].includes((await run.get()).status);
      await expect.poll(isOver, { timeout: 60_000 }).toBe(true);
      const { status, version, result } = await run.get();
      if (load !== "plain") expect(version).toBe(1);
      expect(status === "cancelled").toBe(isCancelled);
      if (!isCancelled) expect(result).toBe(`${version} a north`);
      const { operations } = await run.history();
      expect(operations.filter(({ verb }) => verb === "upgrade")).toHaveLength(version - 1);
      moved += version - 1;
    }
    expect(moved).toBeGreaterThanOrEqual(6); // those that nobody touched meanwhile
    for (const { run, load } of kept) expect(await versionOf(run)).toBe(load === "plain" ? 2 : 1);
    console.log(`${moved} of ${runs.length} runs were moved`);
  });
});

function ignoreOver(error: unknown): void {
  if (!(error instanceof Error && "code" in error && error.code === "run_over")) throw error;
}
