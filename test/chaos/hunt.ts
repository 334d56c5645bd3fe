/** The hunt for deadlocks by hand, on a server of its own: again and again, for as long as was asked. */
import { Pool } from "pg";
import { pg } from "../../src/postgres/pg.ts";
import type { PostgresVersion } from "../postgres/binaries.ts";
import { freshDatabase } from "../postgres/fresh-database.ts";
import { startPostgres } from "../postgres/server.ts";
import { Stage } from "../races/stage.ts";
import { hammer, type Struck } from "./hammer.ts";

export interface HuntOptions {
  readonly version: PostgresVersion;
  readonly forMs: number;
  readonly report: (line: string) => void;
}

const rounds = 10;

export async function hunt({ version, forMs, report }: HuntOptions): Promise<readonly Struck[]> {
  const endsAt = performance.now() + forMs;
  const server = await startPostgres({ version });
  try {
    const struck: Struck[] = [];
    while (performance.now() < endsAt) {
      const { url, drop } = await freshDatabase(server.url);
      const pool = new Pool({ connectionString: url });
      pool.on("error", () => {});
      const turnClock = () => Promise.reject(new Error("this stage is in real time"));
      const stage = new Stage({ url, pool, query: pg(pool), turnClock });
      await stage.open({ isInRealTime: true });
      struck.push(...(await hammer({ stage, rounds, report })));
      stage.close();
      void pool.end();
      await drop();
    }
    return struck;
  } finally {
    await server.stop();
  }
}
