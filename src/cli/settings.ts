/** What a command is told by its environment, and by `.env` and `.dev.vars` (Cloudflare's) in the working directory. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { LayoverError } from "../core/errors.ts";
import { checkNamespace, defaultEnvironment } from "../core/names.ts";
import { printAside } from "./screen.ts";
import { UsageError } from "./usage-error.ts";

const files = [".env", ".dev.vars"];
const defaultUrl = "http://localhost:3000";
const devKeyFile = join(".layover", "data", "api-key");

/** The variables that say which deployment is meant. One of them is enough. */
const leading = ["LAYOVER_SECRET", "DATABASE_URL"];
/**
 * The variables that belong to them. A file's values would be wrong beside the secret or database of another
 * deployment.
 */
const belonging = ["LAYOVER_ENVIRONMENT", "LAYOVER_SECRET_OLD"];
/** Why the environment in the file does not count. */
let leftOut: string | undefined;

/** Never puts anything in the place of what is set. @throws UsageError */
export function loadSettings(): void {
  for (const file of files) {
    if (!existsSync(file)) continue;
    const told = leading.find((name) => setting(name) !== undefined);
    for (const [name, value] of Object.entries(variablesIn(file))) {
      if (process.env[name] !== undefined || value === undefined) continue;
      if (told === undefined || !belonging.includes(name)) process.env[name] = value;
      else if (name === "LAYOVER_ENVIRONMENT")
        leftOut = `The LAYOVER_ENVIRONMENT in ${file} does not count, because ${told} is set elsewhere.`;
    }
  }
}

/** @throws UsageError */
function variablesIn(file: string): NodeJS.Dict<string> {
  try {
    return parseEnv(readFileSync(file, "utf8"));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`The file ${file} cannot be read: ${reason}`, {
      hint: "Correct the file, or move it away.",
      cause,
    });
  }
}

/** Undefined where it is missing or empty. */
export function setting(name: string): string | undefined {
  return process.env[name]?.trim() || undefined;
}

/** @throws UsageError */
export function namespace(): string {
  const name = setting("LAYOVER_NAMESPACE") ?? "default";
  try {
    return checkNamespace(name);
  } catch (cause) {
    if (!(cause instanceof LayoverError)) throw cause;
    throw new UsageError(`LAYOVER_NAMESPACE does not do: ${cause.message}.`, { hint: cause.hint, cause });
  }
}

export function environment(): string {
  const name = setting("LAYOVER_ENVIRONMENT");
  if (name !== undefined) return name;
  if (leftOut !== undefined) printAside(`The environment is taken to be "${defaultEnvironment}". ${leftOut}`);
  leftOut = undefined;
  return defaultEnvironment;
}

/** The old secret as well, while there is one: what it signed still counts. */
export function rootSecrets(): readonly (string | undefined)[] {
  return [setting("LAYOVER_SECRET"), setting("LAYOVER_SECRET_OLD")];
}

export function serverUrl(): string {
  return setting("LAYOVER_URL") ?? defaultUrl;
}

/** The API key. In the folder of `layover dev`, a command that asks a local deployment may use the key of that server. */
export function apiKey(): string | undefined {
  return setting("LAYOVER_KEY") ?? devKey();
}

export function hasDevServer(): boolean {
  return existsSync(devKeyFile);
}

/**
 * The key of `layover dev` in this folder, if the command may ask that server. The key is signed with a secret of its
 * own.
 */
export function devKey(): string | undefined {
  return hasDevServer() && isLocal(serverUrl()) ? readFileSync(devKeyFile, "utf8").trim() : undefined;
}

function isLocal(url: string): boolean {
  return URL.canParse(url) && ["localhost", "127.0.0.1", "[::1]"].includes(new URL(url).hostname);
}
