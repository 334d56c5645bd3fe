/** Synthesizes the deployment under test: its template, and the folder of its bundle. */

import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { App, Stack } from "aws-cdk-lib";
import { Template as Assertions } from "aws-cdk-lib/assertions";
import { Layover, type LayoverProps } from "layover/cdk";

import type { Template } from "./template.ts";

export interface Synthesized {
  readonly stack: Stack;
  readonly template: Template;
  /** The folder of the bundle. */
  readonly code: string;
}

const root = fileURLToPath(new URL("../..", import.meta.url));

/** `entry`: a path from the root. `more`: adds to the stack. */
export function synthesize(
  entry: string,
  props: Partial<LayoverProps> = {},
  more: (stack: Stack, layover: Layover) => void = () => {},
): Synthesized {
  const outdir = mkdtempSync(join(tmpdir(), "layover-cdk-"));
  const app = new App({ outdir });
  const stack = new Stack(app, "Orders");
  const layover = new Layover(stack, "Layover", {
    entry: join(root, entry),
    parameters: "/orders",
    esbuild: { conditions: ["layover-source"], nodePaths: [join(root, "node_modules")] },
    ...props,
  });
  more(stack, layover);
  const template = Assertions.fromStack(stack).toJSON() as Template;
  const assets = readdirSync(outdir).filter((name) => name.startsWith("asset."));
  const code = assets.map((name) => join(outdir, name)).find((folder) => readdirSync(folder).includes("index.mjs"));
  if (code === undefined) throw new Error("the bundle is not among the assets");
  return { stack, template, code };
}
