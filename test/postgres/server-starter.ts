/** Starts a server and waits to be killed. For server.test.ts. */
import { setTimeout as delay } from "node:timers/promises";
import { startPostgres } from "./server.ts";

const { pid, url } = await startPostgres({ version: process.argv[2] === "15" ? 15 : 18 });
process.stdout.write(`${JSON.stringify({ pid, url })}\n`);
await delay(60_000);
