import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { workflow } from "../../src/core/contract/contract.ts";
import { serve } from "../../src/platform/node/index.ts";
import { makeRoles } from "../../src/postgres/roles.ts";
import { testDatabase } from "../postgres/database.ts";
import { aFolder, layover, secret } from "./layover.ts";

const versions = [1, 2, 3, 4, 5] as const;
const contractOf = (version: number) =>
  workflow({ name: "trip", version, signals: { go: unchecked(), stop: unchecked() } });

function unchecked() {
  return { "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) } } as const;
}

/** The code in production: the same for each version. */
const workflows = versions.map((version) =>
  contractOf(version).handler(async ({ step }) => {
    await step.run("pack", () => "packed");
    await step.waitForSignal("go", { timeout: "30 days" });
  }),
);

const core = pathToFileURL(join(import.meta.dirname, "../../src/core/contract/contract.ts")).href;

/** The code that is to be deployed. `bodies`: the handler of each version. */
function aModule(bodies: Readonly<Record<number, string>>): string {
  const file = join(aFolder(), "workflows.ts");
  const code = Object.entries(bodies).map(
    ([version, body]) => `export const v${version} = contractOf(${version}).handler(async ({ step }) => {
  ${body}
});`,
  );
  const schema = `{ "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } }`;
  writeFileSync(
    file,
    `import { workflow } from ${JSON.stringify(core)};
const contractOf = (version) => workflow({ name: "trip", version, signals: { go: ${schema}, stop: ${schema} } });
${code.join("\n")}
`,
  );
  return file;
}

const same = `await step.run("pack", () => { throw new Error("no body is called"); }); await step.waitForSignal("go");`;

describe("layover replay-check", () => {
  const database = testDatabase({ isOwn: true });

  async function parkOneOfEach(): Promise<void> {
    const { query } = database;
    const server = await serve({ workflows, database: query, secrets: [secret], port: 0, onEvent: () => {} });
    try {
      for (const { contract } of workflows) {
        const run = await server.client.start(contract);
        await expect.poll(async () => (await run.get()).status).toBe("waiting");
      }
    } finally {
      await server.close();
    }
  }

  async function copyEach(times: number): Promise<void> {
    const client = await database.pool.connect();
    await client.query(`create temp table copy as
      select r.id as old, layover.new_id() as new from layover.run r cross join generate_series(1, ${times})`);
    for (const [table, column] of [
      ["run", "id"],
      ["run_state", "run_id"],
      ["record", "run_id"],
      ["pending", "run_id"],
    ])
      await client.query(`insert into layover.${table}
        select (jsonb_populate_record(t, jsonb_build_object('${column}', c.new))).* from layover.${table} t
          join copy c on c.old = t.${column}`);
    client.release();
  }

  /** The address of the database for a role that may only read. */
  async function readersUrl(): Promise<string> {
    await makeRoles(database.pool);
    const name = `checker_${randomBytes(6).toString("hex")}`;
    await database.pool.query(`create role ${name} login password 'secret' in role layover_reader`);
    await database.pool.query(`alter role ${name} set default_transaction_read_only = on`);
    const url = new URL(database.url);
    [url.username, url.password] = [name, "secret"];
    return url.href;
  }

  const check = (args: readonly string[], url: string) =>
    layover(["replay-check", ...args], { env: { DATABASE_URL: url } });

  test("examines 10,000 parked runs of five versions as a reader, and says which block and where", {
    timeout: 180_000,
  }, async () => {
    await parkOneOfEach();
    await copyEach(1_999);
    const url = await readersUrl();
    const file = aModule({
      1: same,
      2: `await step.sleep("rest", 1_000); ${same}`,
      3: `await step.run("pack", () => {}); await step.waitForSignal("stop");`,
      4: `await step.run("pack", () => {}); await fetch("https://example.com"); await step.waitForSignal("go");`,
      5: `await step.run("pack", () => {}); for (;;);`,
    });
    const begun = performance.now();
    const said = await check([file, "--json"], url);
    console.log(
      `10,000 parked runs were examined in ${Math.round(performance.now() - begun)} ms, of which one version hangs for 3 × 5 s`,
    );
    expect(said).toMatchObject({ status: 2, stderr: "" });
    const { outcome, runs, replayed, groups } = JSON.parse(said.stdout);
    expect({ outcome, runs, replayed }).toEqual({ outcome: "blocks", runs: 10_000, replayed: 15 });
    const reasonOf = (version: number) =>
      groups.find((group: { version: number }) => group.version === version)?.verdicts[0];
    expect(reasonOf(1)).toMatchObject({ outcome: "fits" });
    expect(reasonOf(2)).toMatchObject({
      outcome: "blocks",
      position: 0,
      expected: "step pack",
      instead: [{ place: "rest", line: expect.stringMatching(/workflows\.ts:\d+:\d+$/) }],
    });
    expect(reasonOf(3)).toMatchObject({
      outcome: "blocks",
      position: 1,
      expected: "signal go",
      instead: [{ place: "stop" }],
    });
    expect(reasonOf(4)).toMatchObject({ outcome: "blocks", reason: "the code calls fetch outside of a step" });
    expect(reasonOf(5)).toMatchObject({ outcome: "blocks", reason: "the code did not come to rest within 5000 ms" });

    const { stdout } = await check([file, "--version", "2"], url);
    expect(stdout).toMatch(
      /^trip version 2: 2000 runs like \S+ would be blocked\n +the history holds step pack at position 1, where the code asks for sleep rest \(.*workflows\.ts:\d+:\d+\)\nSome would be blocked\. 3 of 2000 runs were replayed, in 1 group\.\n$/,
    );
  });

  test("has an exit code for each of its answers", async () => {
    const file = aModule({ 1: same, 2: `await step.run("pack", () => {}); return;` });
    expect(await check([file], database.url)).toMatchObject({
      status: 4,
      stdout: expect.stringContaining("Nothing was examined"),
    });
    await parkOneOfEach();
    await copyEach(4);
    expect(await check([file, "--version", "1"], database.url)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("All fit. 3 of 5 runs"),
    });
    expect(await check([file, "--version", "1", "--all"], database.url)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("All fit. 5 of 5 runs"),
    });
    expect(await check([file, "--version", "3"], database.url)).toMatchObject({ status: 4 });
    expect(await check([file], "postgres://nobody@localhost:1/none")).toMatchObject({ status: 1 });
    await database.pool.query("delete from layover.pending");
    await database.pool.query("update layover.run_state set has_pending = false");
    expect(await check([file, "--version", "2"], database.url)).toMatchObject({
      status: 3,
      stdout: expect.stringContaining("would end early"),
    });
  });
});
