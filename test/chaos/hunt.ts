/** The hunt for deadlocks by hand, on a server of its own: again and again, for as long as was asked. */
import type { PostgresVersion } from "../postgres/binaries.ts";
import { freshDatabase } from "../postgres/fresh-database.ts";
import { startPostgres } from "../postgres/server.ts";
import { SharedDatabase } from "../postgres/shared-database.ts";
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
      const database = new SharedDatabase(await freshDatabase(server.url));
      const stage = new Stage(database);
      await stage.open({ isInRealTime: true });
      struck.push(...(await hammer({ stage, rounds, report })));
      stage.close();
      await database.drop();
    }
    return struck;
  } finally {
    await server.stop();
  }
}
