/** A Cloudflare Worker on your Postgres, which it asks by Neon's HTTP endpoint. */
import { serve } from "layover/cloudflare";
import { neon } from "layover/neon";
import { type Env, wiring } from "./wiring.ts";

export { LayoverAlarm } from "layover/cloudflare";

export default serve<Env>({ ...wiring, database: (env) => neon(env.DATABASE_URL) });
