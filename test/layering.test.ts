import { describe, expect, it } from "vitest";
import { readSources, violations } from "./layers.ts";

describe("layering", () => {
  it("holds in this repository", () => {
    const sources = readSources();
    expect(sources.files.size).toBeGreaterThan(0);
    expect(sources.entries.get("layover")).toBe("src/index.ts");
    expect(violations(sources)).toEqual([]);
  });

  it("lets an import point down or stay on its floor", () => {
    const files = {
      "src/core/run.ts": `export const run = 1;`,
      "src/core/step.ts": `import { run } from "./run.ts";`,
      "src/postgres/calls.ts": `import type { Run } from "../core/run.ts"; import pg from "pg";`,
      "src/engine/turn.ts": `import "../core/run.ts"; import "../postgres/calls.ts"; import "./tick.ts"; import "node:fs";`,
      "src/engine/tick.ts": `export {};`,
      "src/client/client.ts": `import "../postgres/calls.ts";`,
      "src/http/app.ts": `import "../engine/turn.ts"; import "../client/client.ts"; import { Hono } from "hono";`,
      "src/index.ts": `export * from "./http/app.ts"; export * from "./client/client.ts";`,
      "src/platform/node/index.ts": `import "../../http/app.ts"; import "../../index.ts";`,
      "src/cli/main.ts": `import "../platform/node/index.ts"; await import(process.argv[1] ?? "");`,
      "functions/node.ts": `import { serve } from "layover"; import { order } from "./workflows/order.ts";`,
      "functions/workflows/order.ts": `import { workflow } from "layover"; import * as z from "zod";`,
    };
    expect(found(files)).toEqual([]);
  });

  it("reads no import out of a comment or a string", () => {
    const text = `
      /** import { workflow } from "layover"; */
      // import "../postgres/calls.ts"
      export const example = 'import "zod"' + \`import("hono")\`;`;
    expect(found({ "src/core/run.ts": text })).toEqual([]);
  });

  it.each([
    ["src/core/a.ts", `import { z } from "zod";`, "core imports nothing but core, no packages"],
    [
      "src/core/a.ts",
      `import { createHash } from "node:crypto";`,
      "core imports nothing but core, no built-in modules",
    ],
    ["src/core/a.ts", `import fs from "fs";`, "core imports nothing but core, no built-in modules"],
    [
      "src/core/a.ts",
      `export const load = (name: string) => import(name);`,
      "core imports nothing but core, no packages",
    ],
    ["src/core/replay/a.ts", `import { z } from "zod";`, "core imports nothing but core, no packages"],
    ["src/core/a.ts", `import "./codec/b.ts";`, "src/core/codec/ is above src/core/"],
    [
      "src/engine/turn/a.ts",
      `import { encode } from "../../core/codec/codec.ts";`,
      "values reach the database, and come back, by src/core/codec/stored-value.ts",
    ],
    ["src/core/codec/a.ts", `import "../contract/b.ts";`, "src/core/contract/ is above src/core/codec/"],
    ["src/core/contract/a.ts", `import "../replay/b.ts";`, "src/core/replay/ is above src/core/contract/"],
    ["src/core/a.ts", `import "../postgres/b.ts";`, "src/postgres/ is above src/core/"],
    ["src/core/a.ts", `import type { B } from "../engine/b.ts";`, "src/engine/ is above src/core/"],
    ["src/core/a.ts", `export type { B } from "../engine/b.ts";`, "src/engine/ is above src/core/"],
    ["src/core/a.ts", `export * from "../http/b.ts";`, "src/http/ is above src/core/"],
    ["src/core/a.ts", `export type B = import("../http/b.ts").B;`, "src/http/ is above src/core/"],
    ["src/core/a.ts", `import { workflow } from "layover";`, "src/index.ts is above src/core/"],
    ["src/postgres/a.ts", `const b = await import("../engine/b.ts");`, "src/engine/ is above src/postgres/"],
    ["src/engine/a.ts", `import "../client/b.ts";`, "src/engine/ and src/client/ do not import each other"],
    ["src/client/a.ts", `import "../engine/b.ts";`, "src/client/ and src/engine/ do not import each other"],
    [
      "src/client/over-http/a.ts",
      `import "../over-postgres/b.ts";`,
      "src/client/over-http/ and src/client/over-postgres/ do not import each other",
    ],
    [
      "src/client/over-postgres/a.ts",
      `import "../../engine/b.ts";`,
      "src/client/over-postgres/ and src/engine/ do not import each other",
    ],
    ["src/client/a.ts", `import "../index.ts";`, "src/index.ts is above src/client/"],
    ["src/index.ts", `export * from "./platform/node/b.ts";`, "src/platform/node/ is above src/index.ts"],
    ["src/http/a.ts", `import "layover/node";`, "src/platform/node/ is above src/http/"],
    ["src/platform/node/a.ts", `import "../../testing.ts";`, "src/testing.ts is above src/platform/node/"],
    [
      "src/platform/node/a.ts",
      `import "../cloudflare/queue/b.ts";`,
      "src/platform/node/ and src/platform/cloudflare/queue/ do not import each other",
    ],
    [
      "src/platform/invocation/a.ts",
      `import "../cloudflare/b.ts";`,
      "src/platform/cloudflare/ is above src/platform/invocation/",
    ],
    ["src/platform/log/a.ts", `import { inspect } from "node:util";`, "src/platform/log/ runs on every host"],
    ["src/cli/a.ts", `import "../../functions/b.ts";`, "the package imports nothing from functions/"],
    ["src/cli/a.ts", `import "../../test/b.ts";`, "nothing imports test/"],
    ["src/cli/a.ts", `import "../helpers/b.ts";`, "src/helpers/b.ts stands on no floor"],
    ["functions/a.ts", `import "../src/index.ts";`, "functions/ imports layover by its public entries only"],
    ["functions/a.ts", `import "../test/b.ts";`, "nothing imports test/"],
  ])("refuses in %s: %s", (file, text, reason) => {
    const [sentence, ...others] = found({ [file]: text });
    expect(others).toEqual([]);
    expect(sentence).toMatch(new RegExp(`^${file} imports `));
    expect(sentence).toContain(
      `but ${reason}: an import points down or stays on its floor, never up; type-only imports`,
    );
  });

  it("refuses a file that stands on no floor", () => {
    for (const file of ["src/utils.ts", "src/platform/utils.ts"])
      expect(found({ [file]: "" })).toEqual([expect.stringContaining(`${file} stands on no floor`)]);
  });

  it("names a circle of imports, also one of types alone", () => {
    const files = {
      "src/core/entry.ts": `import "./a.ts";`,
      "src/core/a.ts": `import type { B } from "./b.ts"; export type A = B;`,
      "src/core/b.ts": `import type { C } from "./c.ts"; export type B = C;`,
      "src/core/c.ts": `import type { A } from "./a.ts"; export type C = A;`,
    };
    expect(found(files)).toEqual([
      expect.stringContaining("src/core/a.ts → src/core/b.ts → src/core/c.ts → src/core/a.ts is a circle of imports"),
    ]);
  });
});

function found(files: Record<string, string>): string[] {
  const entries = {
    layover: "src/index.ts",
    "layover/node": "src/platform/node/index.ts",
  };
  return violations({ files: new Map(Object.entries(files)), entries: new Map(Object.entries(entries)) });
}
