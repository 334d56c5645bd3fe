import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Embedded, openEmbedded } from "../../src/postgres/embedded.ts";
import { lockFolder } from "../../src/postgres/folder-lock.ts";
import { migrate, SetupError } from "../../src/postgres/migrate.ts";

type Child = ChildProcessByStdio<null, Readable, null>;

let folder: string;
const children: Child[] = [];
const opened: Embedded[] = [];

/** The first start takes two seconds, a copy of what it made a quarter of one. */
let made: string;

beforeAll(async () => {
  made = mkdtempSync(join(tmpdir(), "layover-embedded-"));
  await (await openEmbedded(made)).close();
});

afterAll(() => {
  rmSync(made, { recursive: true });
});

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "layover-embedded-"));
});

function aFolderInUseBefore(): void {
  cpSync(made, folder, { recursive: true });
}

afterEach(async () => {
  for (const embedded of opened.splice(0)) await embedded.close();
  for (const child of children.splice(0)) await kill(child);
  rmSync(folder, { recursive: true });
});

async function open(): Promise<Embedded> {
  const embedded = await openEmbedded(folder);
  opened.push(embedded);
  return embedded;
}

function run(script: string, ...args: string[]): { child: Child; said: string[] } {
  const command = [join(import.meta.dirname, script), ...args];
  return listenTo(spawn(process.execPath, command, { stdio: ["ignore", "pipe", "inherit"] }));
}

function listenTo(child: Child): { child: Child; said: string[] } {
  children.push(child);
  const said: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => said.push(line));
  return { child, said };
}

async function kill(child: Child): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

describe("a data folder", () => {
  test("keeps what was stored when it is closed and opened again", async () => {
    const first = await open();
    expect((await migrate(first.database)).applied).toContain("0001_tables");
    await first.query("create table note as select 'kept' as text");
    await first.close();
    await first.close();
    const second = await open();
    expect(await second.query("select text from note")).toEqual([{ text: "kept" }]);
    expect((await migrate(second.database)).applied).toEqual([]);
    expect(second.query.endpoint).toBe("embedded");
  });

  test("has transactions for steps", async () => {
    const { query } = await open();
    await query("create table note (text text)");
    const insert = query.transact?.(10_000, (client) => client.query("insert into note values ('kept')"));
    await expect(insert).resolves.toMatchObject({ rows: [] });
    expect(await query("select text from note")).toEqual([{ text: "kept" }]);
  });

  test("is opened once at a time in a process, and named in the refusal", async () => {
    aFolderInUseBefore();
    await open();
    await expect(open()).rejects.toThrow(`This process has the data folder ${folder} open.`);
  });

  test("is refused while another process has it open, which is named, and taken over once that was killed", async () => {
    aFolderInUseBefore();
    const { child, said } = run("embedded-writer.ts", folder);
    await expect.poll(() => said.length).toBeGreaterThan(0);
    const refusal: unknown = await open().catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(SetupError);
    expect(refusal).toMatchObject({
      code: "folder_in_use",
      message: `The process ${child.pid} has the data folder ${folder} open. Only one can at a time: end the other one, or use another folder.`,
    });
    await kill(child);
    await open();
  });

  test("loses nothing that was committed when its process is killed amid writes, again and again", async () => {
    aFolderInUseBefore();
    const committed: number[] = [];
    for (const pause of [5, 120, 40, 77]) {
      const { child, said } = run("embedded-writer.ts", folder);
      await expect.poll(() => said.length).toBeGreaterThan(2);
      await delay(pause);
      await kill(child);
      committed.push(...said.filter((line) => /^\d+$/.test(line)).map(Number));
    }
    const { query } = await open();
    const rows = await query("select id, payload like 'y%' as is_updated from row order by id");
    const updated = new Set(rows.filter((row) => row["is_updated"]).map((row) => row["id"]));
    expect(committed.filter((id) => !updated.has(id))).toEqual([]);
    expect(rows.map((row) => row["id"])).toEqual(rows.map((_, index) => index + 1));
    await query("set enable_seqscan = off");
    expect(await query("select count(id)::int as rows from row where id > 0")).toEqual([{ rows: rows.length }]);
  });

  test("whose first start was killed half-way is made anew", async () => {
    const { child } = run("embedded-writer.ts", folder);
    const isHalfWay = () => existsSync(join(folder, "postgres", "PG_VERSION"));
    await expect.poll(isHalfWay, { interval: 1 }).toBe(true);
    await kill(child);
    const { query } = await open();
    expect(await query("select 1 as one")).toEqual([{ one: 1 }]);
  });

  test("that was being made when its process died is made anew", async () => {
    aFolderInUseBefore();
    writeFileSync(join(folder, "being-made"), "");
    rmSync(join(folder, "postgres", "global"), { recursive: true });
    await (await open()).query("create table note as select 'kept' as text");
    expect(existsSync(join(folder, "being-made"))).toBe(false);
  });

  test("does not grow for ever: what was written is checkpointed now and then", async () => {
    aFolderInUseBefore();
    const { query } = await open();
    const checkpoint = async () => (await query("select redo_lsn::text from pg_control_checkpoint()"))[0]?.["redo_lsn"];
    const before = await checkpoint();
    await query("create table note as select 1 as one");
    for (let statement = 0; statement < 5_000; statement++) await query("select 1");
    expect(await checkpoint()).not.toBe(before);
  });
});

describe("the lock of a folder", () => {
  interface Taken {
    readonly pid: number;
    readonly mine: readonly string[];
  }

  async function untilReady({ said }: { said: string[] }): Promise<void> {
    await expect.poll(() => said).toEqual(["ready"]);
  }

  async function taken({ said }: { said: string[] }): Promise<Taken> {
    await expect.poll(() => said.length).toBe(2);
    return JSON.parse(said[1] ?? "");
  }

  test("is taken by exactly one of several processes that try at once, whether it is free or left by a dead one", async () => {
    const whistle = join(folder, "whistle");
    const folders = Array.from({ length: 300 }, (_, index) => join(folder, String(index)));
    for (const [index, each] of folders.entries()) {
      mkdirSync(each);
      if (index % 2 === 1) writeFileSync(join(each, "lock-1"), "999999999 dead");
    }
    const takers = [1, 2, 3].map(() => run("folder-taker.ts", whistle, ...folders));
    await Promise.all(takers.map(untilReady));
    writeFileSync(whistle, "");
    const results = await Promise.all(takers.map(taken));
    expect(results.flatMap(({ mine }) => mine).sort()).toEqual([...folders].sort());
  });

  test("of a process that was killed does not count, even where nobody took note of its end", async () => {
    // A parent that never waits for its children, as the first process of many a container.
    const careless = spawn("sh", ["-c", '"$@" & exec sleep 60', "sh", process.execPath, taker, folder, folder], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const { pid, mine } = await taken(listenTo(careless));
    expect(mine).toEqual([folder]);
    expect(() => lockFolder(folder)).toThrow(`The process ${pid} has the data folder ${folder} open.`);
    process.kill(pid, "SIGKILL");
    await expect.poll(() => isLocked()).toBe(false);
  });

  const taker = join(import.meta.dirname, "folder-taker.ts");

  function isLocked(): boolean {
    try {
      lockFolder(folder);
      return false;
    } catch {
      return true;
    }
  }

  test("counts numbers up, so that a slow taker never takes an old one", () => {
    for (const number of [1, 2, 3]) {
      const lock = lockFolder(folder);
      expect(readdirSync(folder)).toEqual([`lock-${number}`]);
      lock.release();
    }
  });

  test("of a process whose number was given again does not count", () => {
    lockFolder(folder);
    const [pid, birth] = readFileSync(join(folder, "lock-1"), "utf8").split(" ");
    expect(() => lockFolder(folder)).toThrow("open");
    writeFileSync(join(folder, "lock-1"), `${pid} ${birth}0`);
    expect(lockFolder(folder)).toBeDefined();
  });

  test("leaves what else is in the folder alone", () => {
    mkdirSync(join(folder, "lock-out"));
    writeFileSync(join(folder, "lock-7-note"), "");
    lockFolder(folder).release();
    expect(readdirSync(folder).sort()).toEqual(["lock-1", "lock-7-note", "lock-out"]);
  });
});
