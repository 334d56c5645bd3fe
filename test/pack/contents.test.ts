import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { bin, packed } from "./packed.ts";
import { end, run } from "./run.ts";

const Package = z.object({
  version: z.string(),
  scripts: z.record(z.string(), z.string()),
  exports: z.record(z.string(), z.union([z.string(), z.record(z.string(), z.string())])),
});
const SourceMap = z.object({ sources: z.array(z.string()) });

/** Folder in which nothing is installed but layover and what it depends on. */
let folder: string;
/** Folder of the installed package. */
let layover: string;
beforeAll(async () => {
  folder = (await packed()).installed;
  layover = join(folder, "node_modules", "layover");
});

/** Answers the paths of the package's files, with slashes. */
function files(pattern = /./): readonly string[] {
  return readdirSync(layover, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(layover, join(parentPath, name)).replaceAll("\\", "/"))
    .filter((file) => pattern.test(file));
}

const manifest = () => Package.parse(JSON.parse(readFileSync(join(layover, "package.json"), "utf8")));

describe("the package", () => {
  test("holds what is run, its sources and the reference deployment, and nothing else", () => {
    const places = new Set(files().map((file) => file.split("/")[0]));
    expect([...places].toSorted()).toEqual(
      [
        "CHANGELOG.md",
        "LICENSE",
        "README.md",
        "SECURITY.md",
        "dist",
        "functions",
        "infra",
        "package.json",
        "src",
        "wrangler.toml",
      ].toSorted(),
    );
    expect(files(/\.(test|bench)\.|\.tgz$|(^|\/)\.|secret$/)).toEqual([]);
  });

  test("has all that its sources are built to, SQL included, and the sources that its source maps name", () => {
    const built = files(/^src\/.*\.(ts|sql)$/).map((file) => file.replace("src/", "dist/").replace(/\.ts$/, ".js"));
    expect(files()).toEqual(expect.arrayContaining(built));
    const named = files(/^dist\/.*\.map$/).flatMap((map) => {
      const { sources } = SourceMap.parse(JSON.parse(readFileSync(join(layover, map), "utf8")));
      return sources.map((source) => join(dirname(map), source).replaceAll("\\", "/"));
    });
    expect(named.length).toBeGreaterThan(100);
    expect(files()).toEqual(expect.arrayContaining([...new Set(named)]));
  });

  test("has scripts that npm runs for whoever makes it, and none for whoever installs it", () => {
    const onInstall = ["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"];
    expect(Object.keys(manifest().scripts)).toContain("prepack");
    expect(Object.keys(manifest().scripts).filter((name) => onInstall.includes(name))).toEqual([]);
  });

  test("says which version it is", async () => {
    expect(await run(bin(folder, "layover"), ["--version"], { cwd: folder })).toBe(`${manifest().version}\n`);
  });
});

describe("without any of its optional peers", () => {
  test("every entry can be imported but those of Neon's driver, of the CDK and of telemetry, which name theirs", async () => {
    const others = ["./package.json", "./neon", "./cdk", "./telemetry"];
    const entries = Object.keys(manifest().exports).filter((entry) => !others.includes(entry));
    const imported = await Promise.all(
      entries.map(async (entry) => [entry, await importing(`layover${entry.slice(1)}`)]),
    );
    expect(imported).toEqual(entries.map((entry) => [entry, "imported"]));
    expect(await importing("layover/neon")).toContain("Cannot find package '@neondatabase/serverless'");
    expect(await importing("layover/cdk")).toContain("Cannot find package 'aws-cdk-lib'");
    expect(await importing("layover/telemetry")).toContain("Cannot find package '@opentelemetry/api'");
  });

  test("the embedded Postgres for tests says which one it needs", async () => {
    const complaint = await evaluating('await (await import("layover/testing")).testEngine({ workflows: [] })');
    expect(complaint).toContain("Run: npm install @electric-sql/pglite");
  });

  test.each([
    ["to develop", ["dev", "workflows.mjs", "--port", "0"], /^.*Run: npm install @electric-sql\/pglite\n$/],
    ["to migrate", ["migrate"], /^The package pg is not installed.*\n.*npm install .*pg\n$/],
  ])("the command %s says which one it needs", async (_, args, complaint) => {
    const module =
      'import { workflow } from "layover"; export const idle = workflow({ name: "idle", version: 1 }).handler(() => {});';
    writeFileSync(join(folder, "workflows.mjs"), module);
    const env = { DATABASE_URL: "postgres://nobody@127.0.0.1:1/nothing" };
    const { code, stderr } = await end(bin(folder, "layover"), args, { cwd: folder, env });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(complaint) });
  });
});

async function importing(entry: string): Promise<string> {
  const complaint = await evaluating(`await import(${JSON.stringify(entry)})`);
  return complaint === "" ? "imported" : complaint;
}

/** Runs the code in plain Node. Answers what it writes to stderr. */
async function evaluating(code: string): Promise<string> {
  const { stderr } = await end(process.execPath, ["--input-type=module", "--eval", code], { cwd: folder });
  return stderr;
}
