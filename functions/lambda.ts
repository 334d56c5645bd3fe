/** The functions of AWS Lambda on a Postgres of Neon, by Neon's HTTP endpoint. `infra/app.ts` deploys them. */
import { serve } from "layover/lambda";
import { neon } from "layover/neon";
import { shop } from "./webhooks/shop.ts";
import { schedules, workflows } from "./workflows/index.ts";

export const { http, turns, tick, forward } = serve({
  workflows,
  schedules,
  webhooks: [shop],
  parameters: ["shop-secret"],
  database: (parameter) => neon(parameter("database-url")),
});
