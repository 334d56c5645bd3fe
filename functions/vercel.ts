/** A function of Vercel on a Postgres of Neon, by Neon's HTTP endpoint. `vercel.json` leads every path to it. */
import { waitUntil } from "@vercel/functions";
import { serve } from "layover/fetch";
import { neon } from "layover/neon";
import { shop } from "./webhooks/shop.ts";
import { schedules, workflows } from "./workflows/index.ts";

const { env } = process;

export default {
  fetch: serve({
    workflows,
    schedules,
    webhooks: [shop],
    database: () => neon(env["DATABASE_URL"] ?? ""),
    secrets: () => [env["LAYOVER_SECRET"], env["LAYOVER_SECRET_OLD"]],
    publicUrl: () => env["PUBLIC_URL"],
    alarm: () => env["LAYOVER_ALARM"],
    deployment: () => env["VERCEL_DEPLOYMENT_ID"],
    waitUntil,
    // The same as maxDuration in vercel.json.
    limit: "300 seconds",
  }),
};
