/** Bundles Workers as `wrangler deploy` does, which those with Node's modules need. Takes a second, and no network. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The Worker of wrangler.toml. */
export function referenceWorker(): string {
  return dryRun(join(root, "wrangler.toml"));
}

/** Another Worker, that uses Node's modules. `entry` is from the root of this repository. */
export function workerWithNode(entry: string): string {
  const settings = { name: "worker", compatibility_date: "2026-08-01", compatibility_flags: ["nodejs_compat"] };
  const folder = mkdtempSync(join(tmpdir(), "layover-wrangler-"));
  const config = join(folder, "wrangler.json");
  writeFileSync(config, JSON.stringify({ ...settings, main: join(root, entry) }));
  try {
    return dryRun(config);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function dryRun(config: string): string {
  const folder = mkdtempSync(join(tmpdir(), "layover-worker-"));
  const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");
  const args = ["deploy", "--dry-run", "--outdir", folder, "--config", config];
  const env = {
    ...process.env,
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    WRANGLER_BUILD_CONDITIONS: "layover-source,workerd,worker,browser",
    WRANGLER_HIDE_BANNER: "true",
    WRANGLER_LOG_PATH: folder,
    WRANGLER_SEND_METRICS: "false",
  };
  try {
    const { status, stdout, stderr } = spawnSync(process.execPath, [wrangler, ...args], { env, encoding: "utf8" });
    const script = readdirSync(folder).find((name) => name.endsWith(".js"));
    if (status === 0 && script !== undefined) return readFileSync(join(folder, script), "utf8");
    throw new Error(`wrangler ${args.join(" ")} failed:\n${stdout}${stderr}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
