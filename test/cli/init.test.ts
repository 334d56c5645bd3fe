/** What `layover init` makes in an empty folder, and what it says of a host or a folder that is none. */
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { hostNames } from "../../src/cli/init/hosts.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { beginInit, endInit, filesOf, layoverInit } from "./init-folder.ts";

let folder: string;
let printed: readonly string[];
beforeEach(() => {
  ({ folder, printed } = beginInit());
});
afterEach(() => endInit(folder));

const { read, json, found } = filesOf(() => folder);

/** What every host carries out. */
const workflows = ["effects.ts", "index.ts", "order.ts", "report.ts"].map((name) => `functions/workflows/${name}`);
const webhook = "functions/webhooks/shop.ts";

describe("layover init in an empty folder", () => {
  test.each([
    ["node", [".env", ".gitignore", "functions/node.ts", webhook, ...workflows, "package.json", "tsconfig.json"]],
    [
      "cloudflare",
      [
        ".dev.vars",
        ".gitignore",
        webhook,
        "functions/wiring.ts",
        "functions/worker.ts",
        ...workflows,
        "package.json",
        "tsconfig.json",
        "wrangler.toml",
      ],
    ],
    ...["deno", "bun"].map((host): [string, string[]] => [
      host,
      [".env", ".gitignore", "functions/fetch.ts", webhook, ...workflows, "package.json", "tsconfig.json"],
    ]),
    [
      "vercel",
      [".env", ".gitignore", "api/index.ts", webhook, ...workflows, "package.json", "tsconfig.json", "vercel.json"],
    ],
    ["alarm", [".dev.vars", ".gitignore", "functions/alarm.ts", "package.json", "tsconfig.json", "wrangler.toml"]],
  ])("makes what a project on %s needs", async (host, files) => {
    await layoverInit("--on", host, folder);
    expect(found()).toEqual(files);
    expect(printed.join("\n").match(/^new +\S+$/gm)).toHaveLength(files.length);
  });

  test("copies the reference deployment as it is", async () => {
    await layoverInit("--on", "node", folder);
    for (const path of ["functions/node.ts", ...workflows]) expect(read(path)).toBe(readFileSync(path, "utf8"));
  });

  test("writes for the alarm nothing of a database, and calls it as the project", async () => {
    await layoverInit("--on", "alarm", folder);
    expect(parseEnv(read(".dev.vars"))).toEqual({ ORDERS_KEY: "" });
    expect(read("wrangler.toml")).toMatch(/^name = "orders"/m);
    expect(json("package.json")).toMatchObject({ scripts: { deploy: "wrangler deploy" } });
    expect(Object.keys(json("package.json").dependencies)).toEqual(["layover"]);
  });

  test("has what it writes for Vercel in api/ import what stands in functions/", async () => {
    await layoverInit("--on", "vercel", folder);
    const imports = read("api/index.ts").match(/"\.[^"]+"/g);
    expect(imports).toEqual(['"../functions/webhooks/shop.ts"', '"../functions/workflows/index.ts"']);
  });

  test("calls what is deployed to Cloudflare as the project, itself included", async () => {
    await layoverInit("--on", "cloudflare", folder);
    const text = read("wrangler.toml");
    expect(text).toMatch(/^name = "orders"/m);
    for (const line of ['queue = "orders"', 'dead_letter_queue = "orders-dead"', 'queue = "orders-dead"'])
      expect(text.split("\n")).toContain(line);
    expect(text).toContain("npx wrangler queues create orders\n");
    expect(text).not.toMatch(/"layover|layover"|\/layover/);
    expect(text).toMatch(/^PUBLIC_URL = "https:\/\/orders\.invalid"/m);
  });

  test("makes a Worker for any Postgres, which connects by TCP", async () => {
    await layoverInit("--on", "cloudflare", "--db", "pg", folder);
    expect(found()).toContain("functions/worker.ts");
    expect(found()).not.toContain("functions/worker-pg.ts");
    expect(read("functions/worker.ts")).toBe(readFileSync("functions/worker-pg.ts", "utf8"));
    expect(read("wrangler.toml")).toMatch(/^compatibility_flags = \["nodejs_compat"\]$/m);
    expect(read("wrangler.toml")).not.toMatch(/neon/i);
    expect(json("package.json")).toMatchObject({ dependencies: { pg: expect.any(String) } });
    expect(Object.keys(json("package.json").dependencies)).not.toContain("@neondatabase/serverless");
    expect(read(".dev.vars")).toContain("# Your PostgreSQL, 15 or newer: postgresql://");
    expect(printed.join("\n")).not.toMatch(/neon/i);
  });

  test("knows by which databases a host works", async () => {
    await expect(layoverInit("--on", "node", "--db", "neon", folder)).rejects.toMatchObject({
      message: "On node there is no --db neon.",
      hint: "There is --db pg.",
    });
    expect(found()).toEqual([]);
  });

  test("develops for Cloudflare at its own address, and as another environment than what is deployed", async () => {
    await layoverInit("--on", "cloudflare", folder);
    const { LAYOVER_SECRET, ...variables } = parseEnv(read(".dev.vars"));
    expect(() => new Secrets([LAYOVER_SECRET])).not.toThrow();
    expect(variables).toEqual({
      DATABASE_URL: "",
      PUBLIC_URL: "http://localhost:8787",
      LAYOVER_ENVIRONMENT: "development",
      LAYOVER_URL: "http://localhost:8787",
      LAYOVER_KEY: "",
    });
    expect(read("wrangler.toml")).toMatch(/^LAYOVER_ENVIRONMENT = "default"/m);
    expect(read("functions/wiring.ts")).toContain("env.LAYOVER_ENVIRONMENT");
  });

  test("makes a root secret that nobody else may read, each time another", async () => {
    const secretOf = async () => {
      await layoverInit("--on", "node", folder);
      const [, secret] = /^LAYOVER_SECRET=(.+)$/m.exec(read(".env")) ?? [];
      return secret;
    };
    const first = await secretOf();
    expect(statSync(join(folder, ".env")).mode & 0o777).toBe(0o600);
    expect(read(".gitignore").split("\n")).toContain(".env");
    expect(() => new Secrets([first])).not.toThrow();
    rmSync(folder, { recursive: true });
    expect(await secretOf()).not.toBe(first);
  });

  test.each([
    ["orders", "orders"],
    ["My Orders (2)", "my-orders-2"],
    // A package cannot depend on one of its own name.
    ["layover", "my-layover"],
    ["…", "my-layover"],
  ])("calls the project in %j %j", async (folderName, name) => {
    folder = join(dirname(folder), folderName);
    await layoverInit("--on", "node", folder);
    expect(json("package.json")).toMatchObject({ name, private: true, type: "module" });
  });

  test("asks for the versions that layover itself is tested with", async () => {
    await layoverInit("--on", "node", folder);
    const own = JSON.parse(readFileSync("package.json", "utf8"));
    const { dependencies, devDependencies } = json("package.json");
    expect(dependencies).toEqual({
      layover: `^${own.version}`,
      pg: `^${own.devDependencies.pg}`,
      zod: `^${own.devDependencies.zod}`,
    });
    expect(devDependencies["typescript"]).toBe(`^${own.devDependencies.typescript}`);
  });

  test.each([
    [
      "node",
      [
        "cd",
        "npm install",
        "npm run dev  # on an embedded Postgres; it prints lines to try",
        "npm run migrate",
        "npx layover keys create me --scopes start,read,signal,callbacks  # put it into .env, as LAYOVER_KEY",
        "npm start",
      ],
    ],
    [
      "cloudflare",
      [
        "cd",
        "npm install",
        "npm run migrate",
        "npx layover keys create me --scopes start,read,signal,callbacks  # put it into .dev.vars, as LAYOVER_KEY",
        "npm run dev",
        "DATABASE_URL=… npx layover migrate",
        "npx wrangler queues create orders",
        "npx wrangler queues create orders-dead",
        "npx wrangler secret put DATABASE_URL",
        "npx wrangler secret put LAYOVER_SECRET  # another one than in .dev.vars",
        "npm run deploy  # prints its address: put that into wrangler.toml, as PUBLIC_URL, and deploy again",
        "LAYOVER_SECRET=… DATABASE_URL=… npx layover keys create me --scopes start,read,signal,callbacks",
        "LAYOVER_URL=https://… LAYOVER_KEY=lok_… npx layover runs",
      ],
    ],
  ])("says what to type next, on %s", async (host, steps) => {
    await layoverInit("--on", host, folder);
    const lines = [...printed.join("\n").matchAll(/^ {2}(.*)$/gm)].map(([, line = ""]) => line.replace(/ +#/, "  #"));
    expect(lines.map((line) => line.replace(/^cd .*orders$/, "cd"))).toEqual(steps);
  });
});

describe("layover init says what is wrong and what to do", () => {
  const hosts = expect.stringMatching(
    /^Usage: layover init --on node\|cloudflare\|aws\|vercel\|deno\|bun\|alarm \[--db pg\|neon\] \[FOLDER\]\nnode: .* cloudflare: .* aws: /,
  );

  test.each([
    [[], "Which host is it for?"],
    [["--on", "azure"], 'There is no host "azure".'],
    [["--on", "toString"], 'There is no host "toString".'],
  ])("of %j", async (args, message) => {
    await expect(layoverInit(...args)).rejects.toMatchObject({ message, hint: hosts });
  });

  test("of a folder that is none", async () => {
    writeFileSync(folder, "");
    await expect(layoverInit("--on", "node", folder)).rejects.toMatchObject({
      message: expect.stringMatching(/^The folder .*orders cannot be used: E/),
      hint: `Name one that you may write to: layover init --on ${hostNames} FOLDER`,
    });
  });
});
