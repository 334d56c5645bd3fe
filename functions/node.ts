/** A server of Node's on your Postgres: `node functions/node.ts`. Migrate the database first. */
import { dashboard } from "layover/dashboard";
import { requireDatabase, serve } from "layover/node";
import { openapi } from "layover/openapi";
import { pg } from "layover/pg";
import { Pool } from "pg";
import { shop } from "./webhooks/shop.ts";
import { schedules, workflows } from "./workflows/index.ts";

// One handler that forgets to await a promise must not end everybody else's runs.
process.on("unhandledRejection", (error) => console.error("unhandled rejection:", error));

const { env } = process;
// Set no query_timeout: after one, pg lends a connection that still waits for its answer to the next caller. The option
// `timeoutMs` of layover's pg() ends such a connection.
const pool = new Pool({ connectionString: env["DATABASE_URL"], connectionTimeoutMillis: 15_000, keepAlive: true });
const database = pg(pool);
await requireDatabase(database);
const server = await serve({
  workflows,
  schedules,
  webhooks: [shop],
  dashboard: dashboard(),
  openapi: openapi(),
  database,
  environment: env["LAYOVER_ENVIRONMENT"],
  publicUrl: env["PUBLIC_URL"],
  port: env["PORT"],
  processes: { door: env["LAYOVER_DOOR"] },
  secrets: [env["LAYOVER_SECRET"], env["LAYOVER_SECRET_OLD"]],
});
console.log(`layover listens on ${server.url}`);

// Steps under way have 10 seconds to end. The next process begins those again that take longer.
const end = () => void server.close().finally(() => process.exit());
process.once("SIGTERM", end);
process.once("SIGINT", end);
