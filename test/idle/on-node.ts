/** Runs that wait on Node: a server with a pool of connections to its Postgres. */
import { randomBytes } from "node:crypto";
import { Pool } from "pg";
import { serve } from "../../src/platform/node/index.ts";
import { pg } from "../../src/postgres/pg.ts";
import { freshDatabase } from "../postgres/fresh-database.ts";
import { startPostgres } from "../postgres/server.ts";
import { late } from "./late.ts";
import type { Site, SiteOptions } from "./site.ts";
import { workflows } from "./workflows.ts";

export async function openNode({ settings }: SiteOptions): Promise<Site> {
  const postgres = await startPostgres({ version: 18, settings });
  const { url } = await freshDatabase(postgres.url);
  const pool = new Pool({ connectionString: url });
  pool.on("error", () => {});
  const awake = Promise.withResolvers<void>();
  const server = await serve({
    workflows,
    database: pg(pool),
    secrets: [randomBytes(32).toString("base64")],
    port: 0,
    hostname: "127.0.0.1",
    onLog: ({ message }) => {
      if (message === "awake") awake.resolve();
    },
  });
  const contracts = new Map(workflows.map(({ contract }) => [contract.name, contract]));
  return {
    databaseUrl: url,
    async start(workflow, input) {
      const contract = contracts.get(workflow);
      if (contract === undefined) throw new Error(`there is no workflow ${workflow}`);
      await server.client.start(contract, input);
    },
    untilAwake: async (withinMs) => await Promise.race([awake.promise, late(withinMs)]),
    counts: {},
    async end() {
      await server.close();
      await pool.end();
      await postgres.stop();
    },
  };
}
