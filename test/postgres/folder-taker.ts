/** Tries to lock a folder, says how that went, and waits to be killed. For embedded.test.ts. */
import { setTimeout as delay } from "node:timers/promises";
import { lockFolder } from "../../src/postgres/folder-lock.ts";

try {
  lockFolder(process.argv[2] ?? "");
  process.stdout.write("mine\n");
} catch (error) {
  process.stdout.write(`${error instanceof Error ? error.message : String(error)}\n`);
}
await delay(60_000);
