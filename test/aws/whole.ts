/**
 * A whole deployment on AWS with a Postgres of its own: functions as the construct of `layover/cdk` bundles and deploys them,
 * AWS' services on the wire, and Postgres behind Neon's endpoint, migrated.
 */
import { randomBytes } from "node:crypto";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { Secrets } from "../../src/http/secrets.ts";
import type { Answer } from "../platform/dev-server.ts";
import { freshDatabase } from "../postgres/fresh-database.ts";
import { openNeonEndpoint } from "../postgres/neon-endpoint.ts";
import { startPostgres } from "../postgres/server.ts";
import { AwsCloud, type CloudOptions } from "./cloud.ts";
import { synthesize } from "./synth.ts";

/** A host name of Neon's, since the functions know of nothing else. Their network leads it to our endpoint. */
const neonHost = "ep-quiet-river-a1b2c3.eu-central-1.aws.neon.tech";

export interface WholeOptions extends Pick<CloudOptions, "lateness"> {
  /** The module of the functions, from the root. */
  readonly entry: string;
  readonly variables?: Readonly<Record<string, string>>;
  /** Settings of Postgres, by name. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface Whole {
  readonly cloud: AwsCloud;
  readonly databaseUrl: string;
  /** What the functions call the database. */
  readonly endpoint: string;
  /** An API key that may do everything. */
  readonly key: string;
  /** How often Neon was asked. */
  readonly statements: number;
  api(method: string, path: string, value?: unknown): Promise<Answer>;
  /** Resolves when the functions have written this. */
  untilSaid(pattern: RegExp, withinMs?: number): Promise<RegExpExecArray>;
  end(): Promise<void>;
}

export async function deployWhole({ entry, variables, settings = {}, ...options }: WholeOptions): Promise<Whole> {
  const secret = randomBytes(32).toString("base64");
  const key = createApiKey(new Secrets([secret]), { name: "me", namespace: "default", scopes });
  const { template, code } = synthesize(entry, { parameterNames: ["shop-secret"] }); // as infra/app.ts does
  const postgres = await startPostgres({ version: 18, settings });
  const databaseUrl = (await freshDatabase(postgres.url)).url;
  const neon = await openNeonEndpoint(databaseUrl);
  const url = new URL(databaseUrl);
  url.host = neonHost;
  const hook = new URL("neon-elsewhere.mjs", import.meta.url);
  const cloud = await AwsCloud.open({
    ...options,
    template,
    code,
    parameters: { "/orders/secret": secret, "/orders/database-url": url.href },
    variables: {
      ...variables,
      FETCH_ENDPOINT: neon.fetchEndpoint,
      NODE_OPTIONS: `--enable-source-maps --import=${hook.href}`,
    },
  });
  cloud.deployed();
  return {
    cloud,
    databaseUrl,
    endpoint: `${neonHost}${url.pathname}`,
    key,
    get statements() {
      return neon.arrivals;
    },
    async api(method, path, value) {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const body = value === undefined ? {} : { body: JSON.stringify(value) };
      const response = await fetch(`${cloud.url}${path}`, { method, headers, ...body });
      return { status: response.status, body: await response.json() };
    },
    async untilSaid(pattern, withinMs = 15_000) {
      const givenUpAt = Date.now() + withinMs;
      for (;;) {
        const found = pattern.exec(cloud.output.join("\n"));
        if (found !== null) return found;
        if (Date.now() > givenUpAt) throw new Error(`the functions have not written ${pattern} in time`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async end() {
      await cloud.close();
      await neon.close();
      await postgres.stop();
    },
  };
}
