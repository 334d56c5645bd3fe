/** A server of Node's on your Postgres: `node functions/node.ts`. Migrate the database first. */
import { serveNode } from "layover/node";
import { pg } from "layover/pg";
import { Pool } from "pg";
import { workflows } from "./workflows/index.ts";

const { env } = process;
// No query_timeout: with it, pg gives a connection that still waits to whoever asks next. pg(pool, { timeoutMs }) ends it.
const pool = new Pool({ connectionString: env["DATABASE_URL"], connectionTimeoutMillis: 15_000, keepAlive: true });
const server = await serveNode({
  workflows,
  database: pg(pool),
  environment: env["LAYOVER_ENVIRONMENT"],
  publicUrl: env["PUBLIC_URL"],
  port: env["PORT"],
  secrets: [env["LAYOVER_SECRET"], env["LAYOVER_SECRET_OLD"]],
});
console.log(`layover listens on ${server.url}`);

// A promise that one handler forgot to await is not to end everybody else's runs.
process.on("unhandledRejection", (error) => console.error("unhandled rejection:", error));
process.once("SIGTERM", () => void server.close().then(() => pool.end()));
process.once("SIGINT", () => void server.close().then(() => pool.end()));
