/** The functions of AWS that carry out the runs that wait. */
import { serve } from "layover/lambda";
import { neon } from "layover/neon";
import { workflows } from "./workflows.ts";

export const { http, turns, tick, forward } = serve({
  workflows,
  database: (parameter) => neon(parameter("database-url")),
});
