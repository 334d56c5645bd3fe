/**
 * Runs a command on a Node that is new enough for it:
 *
 *   node test/toolchain/with-node.mjs COMMAND [ARGUMENT …]
 *
 * Where this machine's own Node is older, the one pinned beside this file is installed from npm and goes first in PATH.
 * Plain JavaScript, because an old Node has to run it.
 */
import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = fileURLToPath(new URL("../..", import.meta.url));
const isWindows = process.platform === "win32";

/** Types are stripped from 22.18 on, and testcontainers needs 22.22. */
function isNewEnough(version) {
  const [major, minor] = version.replace("v", "").split(".").map(Number);
  return major >= 24 || (major === 22 && minor >= 22);
}

function pinnedNodeWorks() {
  const { optionalDependencies } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
  const answer = spawnSync(join(here, "node_modules", ".bin", isWindows ? "node.cmd" : "node"), ["--version"], {
    encoding: "utf8",
    shell: isWindows,
  });
  return Object.values(optionalDependencies).includes(answer.stdout?.trim().slice(1));
}

function installPinnedNode(env) {
  console.error(`Node ${process.version} is too old for this command; fetching a newer one from npm, once.`);
  const { error, status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund"], {
    cwd: here,
    env,
    shell: isWindows,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (error || status !== 0 || !pinnedNodeWorks()) {
    fail(
      `This command needs Node 22.22 or newer. This one is ${process.version}, and npm could not fetch one for ` +
        `${process.platform}-${process.arch}. Install a newer Node, then run the command again.`,
    );
  }
}

function fail(message, code = 1) {
  console.error(message);
  process.exit(code);
}

const [command, ...args] = process.argv.slice(2);
if (!command) fail("Usage: node test/toolchain/with-node.mjs COMMAND [ARGUMENT …]");

const pathKey = Object.keys(process.env).find((key) => key.toUpperCase() === "PATH") ?? "PATH";
const env = { ...process.env };
const path = [join(root, "node_modules", ".bin"), env[pathKey]];

if (!isNewEnough(process.version)) {
  // npm looks for its global settings (certificates, proxies) beside the Node that runs it, so name them before Node changes.
  env.npm_config_globalconfig ??= spawnSync("npm", ["config", "get", "globalconfig"], {
    encoding: "utf8",
    shell: isWindows,
  }).stdout?.trim();
  if (!pinnedNodeWorks()) installPinnedNode(env);
  path.unshift(join(here, "node_modules", ".bin"));
}
env[pathKey] = path.join(delimiter);

const child = spawn(command, args, { env, stdio: "inherit", shell: isWindows });
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    // A terminal gives Ctrl-C to the child itself; passed on, it would arrive twice and cut the child's goodbye short.
    if (signal === "SIGTERM" || !process.stdin.isTTY) child.kill(signal);
  });
}
// Killed, npm tells nobody. Whoever it began by this command ends with it.
const { ppid } = process;
setInterval(() => {
  if (process.ppid !== ppid && env.npm_lifecycle_event) child.kill("SIGTERM");
}, 500).unref();
child.on("error", (error) => fail(`Could not run ${command}: ${error.message}`, 127));
child.on("exit", (code, signal) => {
  process.exitCode = code ?? 128 + constants.signals[signal];
});
