/** The functions under test. They ask a local endpoint that speaks Neon's protocol. */
import { serve } from "layover/lambda";
import { neon } from "layover/neon";
import { workflows as reference } from "../../functions/workflows/index.ts";
import { workflows } from "../platform/workers/workflows.ts";

const fetchEndpoint = process.env["FETCH_ENDPOINT"] ?? "";

export const { http, turns, tick, forward } = serve({
  workflows: [...workflows, ...reference],
  database: (parameter) => neon(parameter("database-url"), { fetchEndpoint }),
});
