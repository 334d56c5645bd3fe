/** What differs from host to host in a project that `layover init` begins. */

export interface Host {
  /** Files and folders of layover's own package, which are its reference deployment. */
  readonly copied: readonly string[];
  /** New names, in the project, of some copied files. */
  readonly renamed?: Readonly<Record<string, string>>;
  /** Texts of the copied files that are replaced, each with its new text. */
  readonly replaced?: readonly (readonly [text: string, by: string])[];
  /** Where the secrets are kept while one develops. */
  readonly envFile: string;
  /** The database to which DATABASE_URL leads. Undefined: the host has no database, and no secret of its own. */
  readonly database?: string;
  /** Further variables of that file: a name, a value, a remark. */
  readonly variables: readonly (readonly [name: string, value: string, remark: string])[];
  readonly ignored: readonly string[];
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: readonly string[];
  readonly devDependencies: readonly string[];
}

const tools = ["@types/node", "typescript"];
const overTcp = ["layover", "pg", "zod"];
const everywhere = { migrate: "layover migrate", typecheck: "tsc" };

const node: Host = {
  copied: ["functions/node.ts", "functions/webhooks", "functions/workflows"],
  envFile: ".env",
  database: "Your PostgreSQL, 15 or newer",
  variables: [],
  ignored: ["node_modules/", ".layover/", ".env"],
  scripts: {
    ...everywhere,
    dev: "layover dev",
    // The file .env is there in development only. A host sets the variables itself.
    start: "node --env-file-if-exists=.env functions/node.ts",
  },
  dependencies: overTcp,
  devDependencies: ["@electric-sql/pglite", "@types/pg", ...tools],
};

const cloudflare: Host = {
  copied: ["functions/worker.ts", "functions/wiring.ts", "functions/webhooks", "functions/workflows", "wrangler.toml"],
  envFile: ".dev.vars",
  database: "A branch of your Neon database",
  variables: [
    ["PUBLIC_URL", "http://localhost:8787", "Where callbacks are answered"],
    [
      "LAYOVER_ENVIRONMENT",
      "development",
      "Another environment than the deployed one, so that code on this machine carries out no run of production's database",
    ],
    ["LAYOVER_URL", "http://localhost:8787", "The deployment that the command line asks"],
  ],
  ignored: ["node_modules/", ".wrangler/", ".dev.vars"],
  scripts: { ...everywhere, dev: "wrangler dev", deploy: "wrangler deploy" },
  dependencies: ["@neondatabase/serverless", "layover", "zod"],
  // `layover migrate` runs on this machine, over TCP.
  devDependencies: ["pg", "wrangler", ...tools],
};

/** A Worker that connects by TCP, for which it needs modules of Node's. */
const cloudflareByTcp: Host = {
  ...cloudflare,
  copied: [
    "functions/worker-pg.ts",
    "functions/wiring.ts",
    "functions/webhooks",
    "functions/workflows",
    "wrangler.toml",
  ],
  renamed: { "functions/worker-pg.ts": "functions/worker.ts" },
  replaced: [
    [
      "# A Worker that uses `pg` over TCP instead of `neon` needs Node's modules:\n# compatibility_flags",
      "# pg connects by TCP, for which it needs Node's modules.\ncompatibility_flags",
    ],
    [
      "Neon's connection string, with the pooled host or without",
      "postgresql://user:password@host/database; the host must be reachable from the internet",
    ],
  ],
  database: "Your PostgreSQL, 15 or newer",
  dependencies: overTcp,
  devDependencies: ["@types/pg", "wrangler", ...tools],
};

const aws: Host = {
  copied: ["functions/lambda.ts", "functions/webhooks", "functions/workflows", "infra/app.ts", "infra/cdk.json"],
  // The CDK looks for it where it is called.
  renamed: { "infra/cdk.json": "cdk.json" },
  envFile: ".env",
  database: "A branch of your Neon database",
  variables: [["LAYOVER_ENVIRONMENT", "", "The environment of what is deployed, where infra/app.ts names one"]],
  ignored: ["node_modules/", ".layover/", "cdk.out/", ".env"],
  scripts: { ...everywhere, dev: "layover dev", deploy: "cdk deploy" },
  dependencies: [
    "@aws-sdk/client-lambda",
    "@aws-sdk/client-scheduler",
    "@aws-sdk/client-sqs",
    "@aws-sdk/client-ssm",
    "@neondatabase/serverless",
    "layover",
    "zod",
  ],
  // `layover migrate` runs on this machine, over TCP, and `layover dev` on an embedded Postgres.
  devDependencies: ["@electric-sql/pglite", "aws-cdk", "aws-cdk-lib", "constructs", "esbuild", "pg", ...tools],
};

/** The variables of a host without a clock of its own. */
const wakened: Host["variables"] = [
  ["PUBLIC_URL", "http://localhost:3000", "Where callbacks are answered"],
  ["LAYOVER_ALARM", "", "The alarm: https://alarm.example.workers.dev/apps/orders (layover init --on alarm)"],
];

/** A process of Bun's or Deno's. */
const residents = (start: string): Host => ({
  ...node,
  copied: ["functions/fetch.ts", "functions/webhooks", "functions/workflows"],
  variables: wakened,
  scripts: { ...everywhere, dev: "layover dev", start },
});

const bun = residents("bun functions/fetch.ts");

const deno = residents(
  "deno serve --env-file --port 3000 --allow-env --allow-net --allow-read --allow-sys functions/fetch.ts",
);

const vercel: Host = {
  copied: ["functions/vercel.ts", "functions/vercel.json", "functions/webhooks", "functions/workflows"],
  // Vercel takes what is in api/ for functions.
  renamed: { "functions/vercel.ts": "api/index.ts", "functions/vercel.json": "vercel.json" },
  replaced: [
    ['"./webhooks/shop.ts"', '"../functions/webhooks/shop.ts"'],
    ['"./workflows/index.ts"', '"../functions/workflows/index.ts"'],
  ],
  envFile: ".env",
  database: "A branch of your Neon database",
  variables: wakened,
  ignored: ["node_modules/", ".layover/", ".vercel/", ".env"],
  scripts: { ...everywhere, dev: "layover dev" },
  dependencies: ["@neondatabase/serverless", "@vercel/functions", "layover", "zod"],
  // `layover migrate` runs on this machine, over TCP, and `layover dev` on an embedded Postgres.
  devDependencies: ["@electric-sql/pglite", "pg", ...tools],
};

/** The Worker that wakes deployments on other hosts. */
const alarm: Host = {
  copied: ["functions/alarm.ts", "functions/alarm.toml"],
  renamed: { "functions/alarm.toml": "wrangler.toml" },
  envFile: ".dev.vars",
  variables: [["ORDERS_KEY", "", "The key of the app `orders`: `npx layover keys alarm` shows it"]],
  ignored: ["node_modules/", ".wrangler/", ".dev.vars"],
  scripts: { dev: "wrangler dev", deploy: "wrangler deploy", typecheck: "tsc" },
  dependencies: ["layover"],
  devDependencies: ["wrangler", ...tools],
};

export type HostName = "node" | "cloudflare" | "aws" | "vercel" | "deno" | "bun" | "alarm";
export type DatabaseName = "pg" | "neon";

/** Each host, and by which databases. The first one is the default. */
export const hosts: Readonly<Record<HostName, Readonly<Partial<Record<DatabaseName, Host>>>>> = {
  node: { pg: node },
  cloudflare: { neon: cloudflare, pg: cloudflareByTcp },
  aws: { neon: aws },
  vercel: { neon: vercel },
  deno: { pg: deno },
  bun: { pg: bun },
  alarm: { pg: alarm },
};

/** How the hosts are named where one is to be chosen. */
export const hostNames = Object.keys(hosts).join("|");
