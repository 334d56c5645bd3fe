/** A store in a folder, which all processes of a namespace share: for one machine, or for a disk that several have. */
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ValueStore } from "./value-store.ts";

/**
 * Makes a store of a folder. A value is written beside its place, flushed to the disk, and put in its place at once. So nobody reads half
 * of one.
 *
 * @example withStore(pg(pool), { store: folderStore("/var/lib/orders/values") })
 */
export function folderStore(folder: string): ValueStore {
  const fileOf = (key: string) => join(folder, ...key.split("/").map(fileName));
  return {
    async put(key, bytes, signal) {
      const file = fileOf(key);
      await mkdir(dirname(file), { recursive: true });
      const beside = besideOf(file);
      try {
        const handle = await open(beside, "w");
        try {
          await handle.writeFile(bytes, { signal });
          await handle.sync();
        } finally {
          await handle.close();
        }
        await rename(beside, file);
      } catch (error) {
        await rm(beside, { force: true });
        throw error;
      }
    },
    async get(key, signal) {
      try {
        return await readFile(fileOf(key), { signal });
      } catch (error) {
        if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
        throw error;
      }
    },
    async delete(keys) {
      // A process that died amid a put has left a part.
      const files = keys.map(fileOf).flatMap((file) => [file, besideOf(file)]);
      await Promise.all(files.map((file) => rm(file, { force: true })));
    },
  };
}

/** The file to which a value is written, before it gets the name under which it is read. */
function besideOf(file: string): string {
  return `${file}.part`;
}

/** No part of a key leads out of the folder. */
function fileName(part: string): string {
  return encodeURIComponent(part).replaceAll(".", "%2E");
}
