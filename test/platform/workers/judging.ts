/** A Worker under test that judges runs by its code. All values are encrypted. */
import { serve } from "layover/cloudflare";
import { encrypted } from "layover/encryption";
import { neon } from "layover/neon";
import { replayCheck } from "layover/replay-check";
import { testKeys } from "../../postgres/encryption/keys.ts";
import { after } from "./trips.ts";

interface Env {
  readonly DATABASE_URL: string;
  readonly FETCH_ENDPOINT: string;
  readonly LAYOVER_SECRET: string;
  readonly PUBLIC_URL: string;
}

export default serve<Env>({
  workflows: after,
  database: (env) => encrypted(neon(env.DATABASE_URL, { fetchEndpoint: env.FETCH_ENDPOINT }), testKeys),
  publicUrl: (env) => env.PUBLIC_URL,
  deployment: () => "b1",
  secrets: (env) => [env.LAYOVER_SECRET],
  replayCheck: replayCheck(),
});
