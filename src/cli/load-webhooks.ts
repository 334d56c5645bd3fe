/** Finds the user's webhooks: whatever the modules of a folder export that `webhook(…)` made. */
import { readdirSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";
import type { Variables } from "../http/webhooks/verifier.ts";
import type { Webhook } from "../http/webhooks/webhook.ts";
import { UsageError } from "./usage-error.ts";

const usualFolder = "functions/webhooks";

/** The usual folder may be missing. @throws UsageError */
export async function loadWebhooks(folder: string | undefined): Promise<readonly Webhook<Variables>[]> {
  const path = resolve(folder ?? usualFolder);
  if (!(statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false)) {
    if (folder === undefined) return [];
    throw new UsageError(`There is no folder ${folder} in ${process.cwd()}.`, {
      hint: "Name the folder whose modules export your webhooks, or leave the option out.",
    });
  }
  const files = readdirSync(path).filter((name) => /\.(ts|js|mjs)$/.test(name) && !/\.d\.ts$/.test(name));
  const found: unknown[] = [];
  for (const name of files.toSorted()) found.push(...(await exportsOf(join(path, name))));
  return [...new Set(found.filter(isWebhook))];
}

async function exportsOf(file: string): Promise<readonly unknown[]> {
  try {
    const namespace: Readonly<Record<string, unknown>> = await import(pathToFileURL(file).href);
    return Object.values(namespace).flat();
  } catch (error) {
    throw new UsageError(`${relative(process.cwd(), file)} could not be loaded: ${inspect(error)}`, {
      hint: "It is imported as Node itself would; from 22.18 on that includes TypeScript.",
      cause: error,
    });
  }
}

/** Told by its shape: the module may have a copy of layover of its own. */
function isWebhook(value: unknown): value is Webhook<Variables> {
  if (typeof value !== "object" || value === null || !("name" in value) || !("bind" in value)) return false;
  return typeof value.name === "string" && typeof value.bind === "function";
}
