import { neonConfig, Pool } from "@neondatabase/serverless";
import { inject } from "vitest";
import { pg } from "../../src/postgres/pg.ts";
import { postgresUrl } from "./database.ts";
import { emptyDatabase } from "./fresh-database.ts";
import { describeQuery } from "./query-conformance.ts";
import { openWebSocketProxy } from "./web-socket-proxy.ts";

const passwords: string[] = [];

describeQuery({
  name: "the pool of Neon's driver, by WebSocket",
  endpoint: /^127\.0\.0\.1\/layover_test_\w+$/,
  secrets: () => passwords,
  async open() {
    const { url, drop } = await emptyDatabase(await postgresUrl(inject("postgres").versions.at(-1) ?? "18"));
    const proxy = await openWebSocketProxy();
    passwords.push(new URL(url).password);
    // As Neon's documentation has it for a Postgres that is not Neon's.
    Object.assign(neonConfig, { wsProxy: proxy.address, useSecureWebSocket: false, pipelineConnect: false });
    const pool = new Pool({ connectionString: url });
    return {
      query: pg(pool),
      async close() {
        await pool.end();
        await proxy.close();
        await drop();
      },
    };
  },
});
