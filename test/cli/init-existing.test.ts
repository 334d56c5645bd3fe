/** What `layover init` adds to a project that is there, and what it leaves as it is. */
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { hostNames } from "../../src/cli/init/hosts.ts";
import { beginInit, endInit, filesOf, layoverInit } from "./init-folder.ts";

let folder: string;
let printed: readonly string[];
beforeEach(() => {
  ({ folder, printed } = beginInit());
});
afterEach(() => endInit(folder));

const { read, json, there, found } = filesOf(() => folder);

describe("layover init in a project that is there", () => {
  test("adds what package.json lacks, and leaves all else in it as it is", async () => {
    const mine = {
      name: "shop",
      type: "module",
      scripts: { dev: "vite", test: "vitest" },
      dependencies: { zod: "4.0.0", layover: "file:layover.tgz" },
      devDependencies: { pg: "^8.16.0", typescript: "~5.9.0" },
      browserslist: ["defaults"],
    };
    there({ "package.json": JSON.stringify(mine, null, "\t") });
    await layoverInit("--on", "node", folder);
    const theirs = json("package.json");
    expect(theirs).toEqual({
      ...mine,
      scripts: { ...mine.scripts, migrate: "layover migrate", start: expect.any(String), typecheck: "tsc" },
      devDependencies: {
        ...mine.devDependencies,
        "@electric-sql/pglite": expect.any(String),
        "@types/node": expect.any(String),
        "@types/pg": expect.any(String),
      },
    });
    expect(Object.keys(theirs)).toEqual(Object.keys(mine));
    expect(read("package.json")).toContain('\n\t"name": "shop"');
    // Their script is not ours.
    expect(printed.join("\n")).toMatch(/^ {2}npx layover dev +#/m);
    expect(printed.join("\n")).toMatch(/^ {2}npm run migrate$/m);
  });

  test("takes what npm install wrote into an empty folder for a new project", async () => {
    there({ "package.json": '{"dependencies": {"layover": "^0.0.9"}}' });
    await layoverInit("--on", "node", folder);
    expect(json("package.json")).toMatchObject({
      name: "orders",
      private: true,
      type: "module",
      dependencies: { layover: "^0.0.9", zod: expect.any(String) },
    });
  });

  test.each([
    ["commonjs", '{ "name": "shop", "type": "commonjs" }'],
    ["commonjs by default", '{ "name": "shop" }'],
  ])("leaves the modules of a project what they are, %s, and says what its own are", async (_, text) => {
    there({ "package.json": text });
    await layoverInit("--on", "node", folder);
    expect(json("package.json").type).toBe(JSON.parse(text).type);
    expect(json("functions/package.json")).toEqual({ type: "module" });
  });

  test("adds the lines that .gitignore and the environment lack, and leaves tsconfig.json alone", async () => {
    there({
      ".gitignore": "/node_modules\n*.log",
      ".env": "# mine\nexport DATABASE_URL=postgres://db/shop\n",
      "tsconfig.json": "{}",
    });
    await layoverInit("--on", "node", folder);
    expect(read(".gitignore")).toBe("/node_modules\n*.log\n.layover/\n.env\n");
    expect(read(".env")).toMatch(
      /^# mine\nexport DATABASE_URL=postgres:\/\/db\/shop\n# .*\nLAYOVER_SECRET=\S+\n# .*\nLAYOVER_KEY=\n$/,
    );
    expect(read("tsconfig.json")).toBe("{}");
    expect(printed.join("\n")).toMatch(/^kept +tsconfig.json {2}# functions\/ needs in it: /m);
  });

  test.each([
    ["has files of the same names", { "functions/workflows/order.ts": "" }, "There is already: "],
    ["has a package.json that is none", { "package.json": "{ name: }" }, "package.json cannot be read: SyntaxError"],
    ["has scripts that are none", { "package.json": '{ "scripts": 1 }' }, "package.json cannot be read: "],
  ])("writes nothing where it %s", async (_, files, message) => {
    there(files);
    await expect(layoverInit("--on", "node", folder)).rejects.toThrow(message);
    expect(found()).toEqual(Object.keys(files));
    for (const [path, text] of Object.entries(files)) expect(read(path)).toBe(text);
  });

  test.each(["^3.22.4", "~3.25.0", "3"])("writes nothing where the project has zod %s", async (zod) => {
    there({ "package.json": JSON.stringify({ type: "module", dependencies: { zod } }) });
    await expect(layoverInit("--on", "node", folder)).rejects.toMatchObject({
      message: `package.json asks for zod ${zod}, and the example needs zod 4. Nothing was written.`,
      hint: expect.stringContaining("npm install zod@4"),
    });
    expect(found()).toEqual(["package.json"]);
  });

  test("names all files that are in its way", async () => {
    there({ "functions/node.ts": "", "functions/workflows/order.ts": "" });
    await expect(layoverInit("--on", "node", folder)).rejects.toMatchObject({
      message: `There is already: ${join(folder, "functions/node.ts")}, ${join(folder, "functions/workflows/order.ts")}. Nothing was written.`,
      hint: `Move what is there away, or name another folder: layover init --on ${hostNames} FOLDER`,
    });
  });
});
