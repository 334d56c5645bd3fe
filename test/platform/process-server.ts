/** A server of its own beside others on one database: `node --conditions=layover-source test/platform/process-server.ts`. */
import { setTimeout as delay } from "node:timers/promises";
import { serve } from "layover/node";
import { pg } from "layover/pg";
import { Pool } from "pg";
import { napping, stuck } from "./process-workflows.ts";

const { env } = process;
const pool = new Pool({ connectionString: env["DATABASE_URL"] });
pool.on("error", () => {});
const server = await serve({
  workflows: [
    napping.handler(async ({ input, step }) => {
      await step.sleepUntil("nap", new Date(input));
      await step.run("wake", () => void console.log("wakes"));
    }),
    stuck.handler(async ({ step }) => {
      await step.run("held", async () => {
        console.log("begins");
        if (env["HOLDS"] === "yes") await delay(3_600_000);
      });
    }),
  ],
  database: pg(pool),
  namespace: env["NAMESPACE"],
  secrets: [env["LAYOVER_SECRET"]],
  hostname: "127.0.0.1",
  port: 0,
  processes: { door: "auto" },
});
console.log(`listens on ${server.url}`);
process.once("SIGTERM", () => void server.close({ grace: 500 }).finally(() => process.exit()));
