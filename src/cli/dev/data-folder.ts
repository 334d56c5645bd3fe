/** A folder that holds all of a development server: its Postgres, its root secret, and an API key under that. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createApiKey, readApiKey, scopes } from "../../http/api-key.ts";
import { Secrets } from "../../http/secrets.ts";
import { type Embedded, openEmbedded } from "../../postgres/embedded.ts";
import { migrate } from "../../postgres/migrate.ts";
import { SetupError } from "../../postgres/setup-error.ts";
import { UsageError } from "../usage-error.ts";

export interface DataFolder {
  readonly embedded: Embedded;
  readonly secret: string;
  /** A key with every scope. It is the same at every start. */
  readonly apiKey: string;
}

/**
 * Opens the folder, and makes what is missing in it.
 *
 * @throws SetupError `folder_in_use`, UsageError
 */
export async function openDataFolder(folder: string, { namespace }: { namespace: string }): Promise<DataFolder> {
  try {
    const embedded = await openEmbedded(folder);
    await migrate(embedded.database);
    const secret = kept(join(folder, "secret"), () => randomBytes(32).toString("base64url"));
    const options = { name: "dev", namespace, scopes };
    const make = () => createApiKey(new Secrets([secret]), options);
    const apiKey = kept(join(folder, "api-key"), make, hasEveryScope);
    kept(join(folder, ".gitignore"), () => "*");
    return { embedded, secret, apiKey };
  } catch (error) {
    throw error instanceof SetupError ? error : unusable(folder, error);
  }
}

/**
 * Whether the key has every scope. An earlier release made keys with fewer scopes, and they are still valid: the secret
 * is the same.
 */
function hasEveryScope(key: string): boolean {
  const granted = readApiKey(key)?.scopes ?? [];
  return scopes.every((scope) => granted.includes(scope));
}

/** Reads the file, or makes it. It is written as a whole or not at all, and only its owner can read it. */
function kept(file: string, make: () => string, isGood: (text: string) => boolean = () => true): string {
  if (!existsSync(file) || !isGood(readFileSync(file, "utf8").trim())) {
    writeFileSync(`${file}.new`, `${make()}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
  return readFileSync(file, "utf8").trim();
}

function unusable(folder: string, cause: unknown): UsageError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const isSystems = cause instanceof Error && "syscall" in cause;
  return new UsageError(`The data folder ${folder} cannot be used: ${reason}`, {
    hint: isSystems
      ? "Choose a folder that you may write to: layover dev --data FOLDER"
      : "If nothing else opened it, its files are damaged. Take another folder, or delete this one and all in it.",
    cause,
  });
}
