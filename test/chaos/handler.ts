/**
 * One of the processes of a campaign: layover on Node as a user deploys it, by its public entries, with a short lease.
 * It ends with whoever has started it, and says on its output what went wrong.
 */
import { serve } from "layover/node";
import { pg } from "layover/pg";
import { Pool } from "pg";
import { effectsIn } from "./effects.ts";
import { errandWorkflow } from "./errand.ts";
import { sender } from "./sender.ts";
import { chimeWorkflow, timetable } from "./timetable.ts";
import { tripWorkflow } from "./trip.ts";

const { DATABASE_URL, EFFECTS_URL, POOLED, LAYOVER_SECRET, PORT, LEASE_MS, DOOR } = process.env;
const effects = new Pool({ connectionString: EFFECTS_URL, max: 5 });
effects.on("error", () => {});
const pool = new Pool({ connectionString: DATABASE_URL });
const happen = effectsIn(effects);
const onBegin = (runId: string, path: string) => console.log(`begins ${runId} ${path}`);
const server = await serve({
  workflows: [errandWorkflow, tripWorkflow, chimeWorkflow].map((make) => make(happen, onBegin)),
  schedules: timetable,
  webhooks: [sender],
  // Each process comes by an address of its own, but it is the same database.
  database: pg(pool, { endpoint: "chaos", prepare: POOLED !== "yes" }),
  hostname: "127.0.0.1",
  port: PORT,
  secrets: [LAYOVER_SECRET],
  leaseMs: Number(LEASE_MS),
  ...(DOOR !== "" && { processes: { door: DOOR } }),
});
console.log(`listens on ${server.url}`);

process.on("unhandledRejection", (error) => console.error("unhandled rejection:", error));
process.once("SIGTERM", async () => {
  await server.close();
  await Promise.all([pool.end(), effects.end()]);
  console.log("closed");
});

const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) process.exit(1);
}, 1_000).unref();
