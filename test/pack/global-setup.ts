/**
 * Lends the package, as `npm publish` would send it, to a run of vitest: made once, when the first test asks for it.
 * It is packed from a copy of the sources that has no `dist/`: packing builds it.
 */
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { openRegistry, type Published, type Registry } from "./registry.ts";
import { run } from "./run.ts";

declare module "vitest" {
  export interface ProvidedContext {
    packageDoor: string;
  }
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const leftOut = new Set(["node_modules", ".git", "dist", ".layover"]);

export interface Packed {
  /** Makes npm take layover from here, and all else as registry.ts says. */
  readonly npmEnv: Readonly<Record<string, string>>;
  /** A folder in which it is installed, with nothing but its own dependencies. */
  readonly installed: string;
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let folder: string | undefined;
  let registry: Registry | undefined;
  let packed: Promise<Packed> | undefined;
  const publish = async (within: string): Promise<Packed> => {
    const elsewhere = await npm(["config", "get", "registry"], within);
    const lock = readFileSync(join(root, "package-lock.json"), "utf8");
    registry = await openRegistry({ published: await pack(within), lock, elsewhere });
    const npmEnv = { ...(await npmCache(within)), npm_config_registry: registry.url };
    return { npmEnv, installed: await install(within, npmEnv) };
  };
  const door = createServer((_, response) => {
    folder ??= mkdtempSync(join(tmpdir(), "layover-pack-"));
    packed ??= publish(folder);
    packed.then(
      (answer) => response.end(JSON.stringify(answer)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  door.listen(0, "127.0.0.1");
  await once(door, "listening");
  const address = door.address();
  if (address === null || typeof address === "string") throw new Error("A TCP server has an address with a port.");
  project.provide("packageDoor", `http://127.0.0.1:${address.port}`);

  return async () => {
    door.close();
    door.closeAllConnections();
    await packed?.catch(() => {});
    registry?.close();
    if (folder !== undefined) rmSync(folder, { recursive: true });
  };
}

async function pack(folder: string): Promise<Published> {
  const sources = join(folder, "sources");
  const isSource = (file: string) =>
    !relative(root, file)
      .split(sep)
      .some((name) => leftOut.has(name));
  cpSync(root, sources, { recursive: true, filter: isSource });
  symlinkSync(join(root, "node_modules"), join(sources, "node_modules"), "junction");
  const answer = await npm(["pack", "--json", "--silent", "--pack-destination", folder], sources); // builds it, too
  const [{ filename, integrity }] = JSON.parse(answer);
  const manifest = JSON.parse(readFileSync(join(sources, "package.json"), "utf8"));
  return { file: join(folder, filename), integrity, manifest };
}

/**
 * A cache that has all that this machine's has, but for what `npx` has installed: it would take today's package for
 * yesterday's, as both have the same version.
 */
async function npmCache(folder: string): Promise<Record<string, string>> {
  const shared = join(await npm(["config", "get", "cache"], folder), "_cacache");
  const own = join(folder, "npm-cache");
  mkdirSync(own);
  mkdirSync(shared, { recursive: true });
  symlinkSync(shared, join(own, "_cacache"), "junction");
  return { npm_config_cache: own };
}

async function install(folder: string, env: Record<string, string>): Promise<string> {
  const installed = join(folder, "installed");
  mkdirSync(installed);
  writeFileSync(join(installed, "package.json"), '{ "private": true, "type": "module" }');
  await run("npm", ["install", "layover"], { cwd: installed, env });
  return installed;
}

async function npm(args: readonly string[], cwd: string): Promise<string> {
  return (await run("npm", args, { cwd })).trim();
}
