/** The files whose tests interrupt or kill something, as filters of vitest. */
export const interrupting: readonly string[] = [
  "crash",
  "chaos",
  "simulation/simulation",
  "model",
  ...["programs", "determinism", "lost-answers", "kept-results", "giving-back", "drain"].map(
    (name) => `engine/${name}`,
  ),
  ...["processes", "worker-crash", "cloudflare-crash", "cloudflare-outage", "closing", "rearming", "fetch"].map(
    (name) => `platform/${name}`,
  ),
  ...["dev", "dev-reload", "pgbouncer", "node", "worker"].map((name) => `platform/${name}.test`),
  ...["pg-failover", "server", "failure", "embedded", "call-faults", "silent-database"].map(
    (name) => `postgres/${name}`,
  ),
  "aws/virtual-time",
  "demo",
].map((name) => `test/${name}`);
