/**
 * `npm run bench:dashboard`: how long the pages of the dashboard take among a million runs, and for a run of 10,000 records, from the request to
 * the last byte of the page, and the CPU time of Postgres and Node for it. Takes some two minutes.
 *
 *   --check        exit with 1 where a median is over 300 ms
 *   --postgres V   15 or 18. Default: 18
 */
import { parseArgs } from "node:util";
import { dashboard } from "layover/dashboard";
import { Pool } from "pg";
import { Client } from "../../src/client/over-postgres/client.ts";
import { workflow } from "../../src/core/contract/contract.ts";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { createApp } from "../../src/http/app.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { makeCalls } from "../../src/postgres/calls.ts";
import { pg } from "../../src/postgres/pg.ts";
import { emptyDatabase } from "../postgres/fresh-database.ts";
import { startPostgres } from "../postgres/server.ts";
import { tellUsage } from "../usage.ts";
import { fillWithAMillion } from "./a-million.ts";
import { quantile } from "./figures.ts";
import { readPostgresCpu } from "./postgres-cpu.ts";

const budgetMs = 300;
const rounds = 15;
const origin = "https://example.com";
const namespace = "default";

/** Gives a run 10,000 records, of which a tenth are branches, and as many failed attempts as a bad day leaves. */
const long = [
  `insert into layover.record (run_id, epoch, position, kind, path, occurrence, is_failure, recorded_at, began_at, value)
     select $1::uuid, 0, n, 'step', case when n % 10 = 0 then 'map[' || n || ']/send' else 'step ' || n end, 1, false,
         now() + n * interval '1 s', now() + n * interval '1 s' - interval '0.5 s', '0{"text":"' || repeat('x', 300) || '"}'
       from generate_series(2, 10000) as n`,
  `insert into layover.attempt (run_id, epoch, path, occurrence, number, began_at, ended_at, error)
     select $1::uuid, 0, 'step ' || n, 1, 1, now(), now(), '0{"name":"Error","message":"no"}' from generate_series(9001, 9999) as n`,
  "update layover.run_state set last_position = 10000 where run_id = $1::uuid",
];

async function main(): Promise<void> {
  tellUsage(import.meta.url);
  const { values } = parseArgs({ options: { check: { type: "boolean" }, postgres: { type: "string" } } });
  const version = values.postgres === "15" ? 15 : 18;
  const server = await startPostgres({ version, settings: { shared_buffers: "512MB", max_wal_size: "4GB" } });
  try {
    const { url } = await emptyDatabase(server.url);
    const pool = new Pool({ connectionString: url, max: 1 });
    await fillWithAMillion(pool);
    const { rows } = await pool.query<{ id: string }>("select id from made where kind = 'waiting' order by n limit 1");
    const runId = rows[0]?.id ?? "";
    for (const statement of long) await pool.query(statement, [runId]);
    const slow = await timePages(pool, runId);
    await pool.end();
    if (values.check && slow > 0) process.exitCode = 1;
  } finally {
    await server.stop();
  }
}

/** The pages as a browser asks for them, of a run of 10,000 records among others. */
const pagesOf = (runId: string): readonly string[] => [
  "",
  "?status=completed",
  "?status=failed",
  "?status=blocked",
  "?status=waiting",
  "?status=sleeping",
  "?status=running",
  "?status=cancelled",
  "?workflow=flow",
  "?workflow=flow&version=1",
  "?workflow=flow&version=2",
  "?workflow=none",
  "?tag=group:7",
  "?tag=group:7&status=failed",
  "?tag=group:none",
  "?before=2026-01-01T00:00:00",
  "?from=2030-01-01T00:00:00",
  "?status=failed&before=2026-01-01T00:00:00",
  "?id=user-500000",
  `?id=${runId}`,
  `runs/${runId}`,
  `runs/${runId}?after=5000`,
  `runs/${runId}/records/9999`,
  "workflows/flow",
];

/** Prints what each page takes, and answers how many are over the budget. */
async function timePages(pool: Pool, runId: string): Promise<number> {
  const { rows } = await pool.query<{ pid: number }>("select pg_backend_pid() as pid");
  const backend = rows[0]?.pid ?? 0;
  let statements = 0;
  const ask = openDashboard(pool, () => {
    statements += 1;
  });
  let slow = 0;
  for (const path of pagesOf(runId)) {
    const took: number[] = [];
    let [bytes, status] = [0, 0];
    statements = 0;
    const cpuBefore = await cpuMs(backend);
    for (let round = 0; round < rounds; round += 1) {
      const began = performance.now();
      const response = await ask(path);
      bytes = (await response.text()).length;
      status = response.status;
      took.push(performance.now() - began);
    }
    const medianMs = quantile(took, 0.5);
    if (medianMs > budgetMs) slow += 1;
    const shown = path.replace(runId, "RUN") || "(all runs)";
    const cpu = ((await cpuMs(backend)) - cpuBefore) / rounds;
    const figures = [
      `${medianMs.toFixed(0)} ms`,
      `${cpu.toFixed(0)} ms of CPU`,
      `${(statements / rounds).toFixed(1)} statements`,
      `${(bytes / 1_000).toFixed(0)} kB`,
    ];
    console.log(`${shown.padEnd(44)} ${figures.join(", ")}${status === 200 ? "" : `, status ${status}`}`);
  }
  return slow;
}

/** Answers what asks the dashboard for a page. */
function openDashboard(pool: Pool, onStatement: () => void): (path: string) => Promise<Response> {
  const secrets = new Secrets(["q3Jx9ZkP0wVfT7uYb2LmNc8RsAe5GhD1iKo4XyUzW6E="]);
  const query = pg(pool);
  const counted = Object.assign(
    async (...given: Parameters<typeof query>) => {
      onStatement();
      return await query(...given);
    },
    { endpoint: query.endpoint },
  );
  const calls = makeCalls({ query: counted, namespace, alarm: async () => {} });
  const client = new Client({ calls, dispatch: async () => {}, wake: async () => {} });
  const flow = workflow({ name: "flow", version: 1 });
  const onError = (error: unknown) => console.error(error);
  const app = createApp({ client, contracts: [flow], secrets, namespace, dashboard: dashboard().mount, onError });
  const authorization = `Bearer ${createApiKey(secrets, { name: "bench", namespace, scopes })}`;
  return async (path) => await app.request(`${origin}/dashboard/${path}`, { headers: { authorization } });
}

/** The CPU time that the backend and this process have used. A machine that others use too does not change it much. */
async function cpuMs(backend: number): Promise<number> {
  const { user, system } = process.cpuUsage();
  return ((await readPostgresCpu(backend)) ?? 0) / 1_000 + (user + system) / 1_000;
}

await main();
