/** The functions of AWS beside two other hosts on one database. */
import { serve } from "layover/lambda";
import { neon } from "layover/neon";
import { workflowsOf } from "./workflows.ts";

const fetchEndpoint = process.env["FETCH_ENDPOINT"] ?? "";

export const { http, turns, tick, forward } = serve({
  workflows: workflowsOf("aws"),
  database: (parameter) => neon(parameter("database-url"), { fetchEndpoint }),
});
