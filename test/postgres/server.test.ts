import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { afterEach, describe, expect, test } from "vitest";
import { folderPrefix, isAlive, removeAbandonedFolders } from "./folders.ts";
import { type PostgresServer, type ServerOptions, startPostgres } from "./server.ts";

let running: PostgresServer[] = [];

async function aServer(options: ServerOptions): Promise<PostgresServer> {
  const server = await startPostgres(options);
  running.push(server);
  return server;
}

async function ask(url: string, statement: string): Promise<unknown> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on("error", () => {});
  await client.connect();
  try {
    const { rows } = await client.query({ text: statement, rowMode: "array" });
    return rows[0]?.[0];
  } finally {
    await client.end();
  }
}

afterEach(async () => {
  for (const server of running) await server.stop();
  running = [];
});

describe.each([15, 18] as const)("a PostgreSQL %i of one's own", (version) => {
  test("has the version that was asked for, and takes settings", async () => {
    const server = await aServer({ version, settings: { max_connections: 7 } });
    expect(await ask(server.url, "show server_version")).toMatch(new RegExp(`^${version}\\.`));
    expect(await ask(server.url, "show max_connections")).toBe("7");
    expect(await ask(server.url, "show synchronous_commit")).toBe("on");
  });

  test.each([{}, { overSocket: true } as const])("asks for a password (%o)", async (options) => {
    const url = new URL((await aServer({ version, ...options })).url);
    expect(await ask(url.href, "select inet_server_addr() is null")).toBe("overSocket" in options);
    url.password = "wrong";
    await expect(ask(url.href, "select 1")).rejects.toThrow("password authentication failed");
  });

  test("goes on with the same data at the same address after kill -9", async () => {
    const server = await aServer({ version });
    await ask(server.url, "create table kept as select 42 as answer");
    await ask(server.url, "checkpoint");
    const { pid } = server;
    // A backend that computes notices late that its postmaster is gone, and holds on to the shared memory until then.
    const busy = ask(server.url, "select count(*) from generate_series(1, 5000000)").catch((error: unknown) => error);
    const others =
      "select count(*)::int from pg_stat_activity where query like '%generate_series(1, 5%' and state = 'active'";
    await expect.poll(async () => await ask(server.url, others)).toBe(2);
    await server.kill("SIGKILL");
    await expect(ask(server.url, "select 1")).rejects.toThrow("ECONNREFUSED");

    await server.restart();
    expect(await ask(server.url, "select answer from kept")).toBe(42);
    expect(server.pid).not.toBe(pid);
    await busy;
  });

  test("vanishes with its data within two seconds when the processes that started it are killed", async () => {
    const starter = spawn(process.execPath, [join(import.meta.dirname, "server-starter.ts"), String(version)], {
      detached: true,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = await once(starter.stdout, "data");
    const { pid, url }: { pid: number; url: string } = JSON.parse(String(line));
    const data = String(await ask(url, "show data_directory"));
    expect(isAlive(pid) && existsSync(data)).toBe(true);

    process.kill(-(starter.pid ?? 0), "SIGKILL");
    for (let waited = 0; isAlive(pid) || existsSync(data); waited += 20) {
      expect(waited, "milliseconds after the kill").toBeLessThan(2_000);
      await delay(20);
    }
  });
});

test("a server that is stopped leaves no process and no folder", async () => {
  const server = await startPostgres({ version: 18 });
  const folder = String(await ask(server.url, "show data_directory"));
  await server.stop();
  expect(isAlive(server.pid)).toBe(false);
  expect(existsSync(folder)).toBe(false);
  await server.stop();
});

test("a start that fails says what Postgres said", async () => {
  await expect(startPostgres({ version: 18, settings: { no_such_setting: 1 } })).rejects.toThrow(
    'unrecognized configuration parameter "no_such_setting"',
  );
});

test("a port that is taken fails when it was asked for", async () => {
  const { port } = new URL((await aServer({ version: 18 })).url);
  await expect(startPostgres({ version: 18, port: Number(port) })).rejects.toThrow("Address already in use");
});

test("with fsync on, the data lie on disk", async () => {
  const server = await aServer({ version: 15, settings: { fsync: "on" } });
  expect(await ask(server.url, "show data_directory")).toContain(tmpdir());
});

describe("folders of earlier runs", () => {
  function aFolderOf(starter: number): string {
    const folder = mkdtempSync(join(tmpdir(), folderPrefix));
    mkdirSync(join(folder, "data"));
    writeFileSync(join(folder, "starter"), String(starter));
    return folder;
  }

  test("are removed when their process is gone", async () => {
    const gone = spawn("true");
    await once(gone, "exit");
    const folder = aFolderOf(gone.pid ?? 0);
    removeAbandonedFolders();
    expect(existsSync(folder)).toBe(false);
  });

  test("stay while their process, or their server, is alive", async () => {
    const mine = aFolderOf(process.pid);
    const gone = spawn("true");
    await once(gone, "exit");
    const served = aFolderOf(gone.pid ?? 0);
    writeFileSync(join(served, "data", "postmaster.pid"), `${process.pid}\n`);
    removeAbandonedFolders();
    expect([mine, served].map((folder) => existsSync(folder))).toEqual([true, true]);
    for (const folder of [mine, served]) rmSync(folder, { recursive: true });
  });
});
