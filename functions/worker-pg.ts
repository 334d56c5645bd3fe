/** A Cloudflare Worker on any Postgres. It connects by TCP, once for each request. */
import { serve } from "layover/cloudflare";
import { pg } from "layover/pg";
import { Pool } from "pg";
import { type Env, wiring } from "./wiring.ts";

export { LayoverAlarm } from "layover/cloudflare";

export default serve<Env>({
  ...wiring,
  // With Hyperdrive, give the connection string of its binding here. Then give pg() the host and database of DATABASE_URL
  // as `endpoint`, since Hyperdrive's address does not tell which database it is.
  database: (env) => pg(new Pool({ connectionString: env.DATABASE_URL, max: 1 })),
});
