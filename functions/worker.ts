/** A Cloudflare Worker on a Postgres of Neon, by Neon's HTTP endpoint. */
import { serve } from "layover/cloudflare";
import { neon } from "layover/neon";
import { type Env, wiring } from "./wiring.ts";

export { LayoverAlarm } from "layover/cloudflare";

export default serve<Env>({ ...wiring, database: (env) => neon(env.DATABASE_URL) });
