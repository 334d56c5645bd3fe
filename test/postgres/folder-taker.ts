/** Waits for a file, tries to lock one folder after the other, says which it got, and waits. For embedded.test.ts. */
import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { lockFolder } from "../../src/postgres/folder-lock.ts";

const [, , whistle = "", ...folders] = process.argv;
process.stdout.write("ready\n");
while (!existsSync(whistle)) await delay(2);
const mine = folders.filter((folder) => {
  try {
    lockFolder(folder);
    return true;
  } catch {
    return false;
  }
});
process.stdout.write(`${JSON.stringify({ pid: process.pid, mine })}\n`);
await delay(60_000);
