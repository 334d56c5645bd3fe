/** The process of Node's beside two other hosts on one database. */
import { serve } from "layover/node";
import { pg } from "layover/pg";
import { Pool } from "pg";
import { tellFetches, tellingAt } from "./told-requests.ts";
import { buildOf, workflowsOf } from "./workflows.ts";

const { env } = process;
tellFetches(tellingAt(env["FATES_URL"] ?? ""));
const pool = new Pool({ connectionString: env["DATABASE_URL"] });
pool.on("error", () => {});
const server = await serve({
  workflows: workflowsOf("node", buildOf(env["BUILD"])),
  database: pg(pool, { endpoint: env["ENDPOINT"] ?? "" }),
  secrets: [env["LAYOVER_SECRET"]],
  hostname: "127.0.0.1",
  port: env["PORT"] ?? 0,
  publicUrl: `http://127.0.0.1:${env["PORT"]}`,
});
console.log(`listens on ${server.url}`);
process.once("SIGTERM", () => void server.close().finally(() => process.exit()));
