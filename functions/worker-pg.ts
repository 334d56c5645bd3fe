/** A Cloudflare Worker on your Postgres, whichever it is: it connects by TCP, once for each request. */
import { serve } from "layover/cloudflare";
import { pg } from "layover/pg";
import { Pool } from "pg";
import { type Env, wiring } from "./wiring.ts";

export { LayoverAlarm } from "layover/cloudflare";

export default serve<Env>({
  ...wiring,
  // Through Hyperdrive: the connection string of its binding, and as `endpoint` of pg() the host and database of
  // DATABASE_URL, since Hyperdrive's address says nothing of the database.
  database: (env) => pg(new Pool({ connectionString: env.DATABASE_URL, max: 1 })),
});
