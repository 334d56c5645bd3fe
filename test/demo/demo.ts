/**
 * `npm run demo`: an order outlives its server, twice. Plays the story with real processes, which it kills with SIGKILL in
 * the middle of a charge and again while the run waits for a person; checks what it tells, and exits with 1 if anything
 * is not as told.
 *
 *   --on HOST    node (the default): `layover dev` on an embedded Postgres
 *                cloudflare: functions/worker.ts on workerd, with its queue, Durable Object and cron trigger
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { flagsIn, oneOf } from "./flags.ts";
import type { Host, HostOptions } from "./host.ts";
import { paint, Screen } from "./screen.ts";
import { Story } from "./story.ts";
import { openWorld } from "./world.ts";

const hosts: Readonly<Record<"node" | "cloudflare", (options: HostOptions) => Promise<Host>>> = {
  node: async (options) => new (await import("./on-node.ts")).OnNode(options),
  cloudflare: async (options) => new (await import("./on-cloudflare.ts")).OnCloudflare(options),
};

const { on } = flagsIn({ on: "node" });
const openHost = hosts[oneOf(["node", "cloudflare"], on, "--on")];

const folder = mkdtempSync(join(tmpdir(), "layover-demo-"));
// Miniflare exits at once when it hears of a signal, whoever else has something to do then.
process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
const screen = new Screen();
const world = await openWorld();
let host: Host | undefined;
let leaving: Promise<never> | undefined;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => void leave(130));
}

try {
  host = await openHost({ screen, folder, effectsUrl: world.url });
  await new Story({ screen, world, host }).play();
  await leave(0);
} catch (error) {
  if (leaving === undefined) complain(error);
  await leave(1);
}

function complain(error: unknown): void {
  const said = host?.output.slice(-2_000) || "nothing";
  console.error(`\n${paint("red", "This is not as told:")} ${String(error)}\n\nThe server said: …${said}`);
}

/** Leaves no process and no folder behind, once, whoever asks. */
function leave(code: number): Promise<never> {
  leaving ??= (async () => {
    await host?.end();
    process.exit(code);
  })();
  return leaving;
}
