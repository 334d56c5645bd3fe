/** A server of Bun's or Deno's: `bun functions/fetch.ts`, `deno serve functions/fetch.ts`. Migrate the database first. */
import { serve } from "layover/fetch";
import { pg } from "layover/pg";
import { Pool } from "pg";
import { shop } from "./webhooks/shop.ts";
import { schedules, workflows } from "./workflows/index.ts";

const { env } = process;

export default {
  fetch: serve({
    workflows,
    schedules,
    webhooks: [shop],
    database: () =>
      pg(new Pool({ connectionString: env["DATABASE_URL"], connectionTimeoutMillis: 15_000, keepAlive: true })),
    secrets: () => [env["LAYOVER_SECRET"], env["LAYOVER_SECRET_OLD"]],
    publicUrl: () => env["PUBLIC_URL"],
    alarm: () => env["LAYOVER_ALARM"],
    // This process stays, so its work goes on after an answer, and a request may take long.
    waitUntil: () => {},
    limit: "15 minutes",
  }),
  // Bun would end a request after 10 seconds of silence, and `?wait=30s` is silent for longer.
  idleTimeout: 60,
};
