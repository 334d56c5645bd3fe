/** The Worker that `layover init --on alarm` writes, as wrangler bundles it, on the real workerd. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Miniflare } from "miniflare";
import { onTestFinished } from "vitest";
import { unstable_getMiniflareWorkerOptions } from "wrangler";
import { quiet } from "./deployed-worker.ts";
import { packed } from "./packed.ts";
import { emptyFolder } from "./project.ts";
import { run } from "./run.ts";

/** Makes the project, and answers the script of its Worker. */
export async function alarmProject(): Promise<{ readonly folder: string; readonly script: string }> {
  const folder = emptyFolder();
  const { npmEnv: env } = await packed();
  await run("npx", ["--yes", "layover", "init", "--on", "alarm"], { cwd: folder, env });
  await run("npm", ["install"], { cwd: folder, env });
  await run("npm", ["run", "typecheck"], { cwd: folder });
  await run("npx", ["wrangler", "deploy", "--dry-run", "--outdir", "bundle"], { cwd: folder, env: quiet });
  return { folder, script: readFileSync(join(folder, "bundle", "alarm.js"), "utf8") };
}

/** Answers the address of the app `orders` at the alarm, which rings at `url`. */
export async function deployAlarm(
  { folder, script }: { readonly folder: string; readonly script: string },
  { url, key }: { readonly url: string; readonly key: string },
): Promise<string> {
  const { workerOptions } = unstable_getMiniflareWorkerOptions(join(folder, "wrangler.toml"));
  const miniflare = new Miniflare({
    ...workerOptions,
    name: "alarm",
    modules: [{ type: "ESModule", path: "alarm.js", contents: script }],
    bindings: { APPS: { orders: url }, ORDERS_KEY: key },
    cf: false,
    telemetry: { enabled: false },
  });
  onTestFinished(async () => await miniflare.dispose());
  return `${(await miniflare.ready).origin}/apps/orders`;
}
