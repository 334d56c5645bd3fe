/** The functions of AWS beside two other hosts on one database. */
import { serve } from "layover/lambda";
import { neon } from "layover/neon";
import { buildOf, workflowsOf } from "./workflows.ts";

const { BUILD, FETCH_ENDPOINT: fetchEndpoint = "" } = process.env;

export const { http, turns, tick, forward } = serve({
  workflows: workflowsOf("aws", buildOf(BUILD)),
  database: (parameter) => neon(parameter("database-url"), { fetchEndpoint }),
});
