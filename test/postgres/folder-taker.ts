/** Waits for a file, tries to lock a folder, says how that went, and waits to be killed. For embedded.test.ts. */
import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { lockFolder } from "../../src/postgres/folder-lock.ts";

const [, , folder = "", whistle = ""] = process.argv;
process.stdout.write("ready\n");
while (!existsSync(whistle));
try {
  lockFolder(folder);
  process.stdout.write("mine\n");
} catch (error) {
  process.stdout.write(`${error instanceof Error ? error.message : String(error)}\n`);
}
await delay(60_000);
