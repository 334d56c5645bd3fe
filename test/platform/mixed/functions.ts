/** The functions of AWS beside two other hosts on one database. */
import { serve } from "layover/lambda";
import { neon } from "layover/neon";
import { tellFetches, tellingAt } from "./told-requests.ts";
import { buildOf, workflowsOf } from "./workflows.ts";

const { AWS_LAMBDA_RUNTIME_API, BUILD, FATES_URL = "", FETCH_ENDPOINT: fetchEndpoint = "" } = process.env;
tellFetches(tellingAt(FATES_URL), [fetchEndpoint, `http://${AWS_LAMBDA_RUNTIME_API}`]);

export const { http, turns, tick, forward } = serve({
  workflows: workflowsOf("aws", buildOf(BUILD)),
  database: (parameter) => neon(parameter("database-url"), { fetchEndpoint }),
});
