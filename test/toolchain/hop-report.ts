/**
 * What a build tells of hop latencies: figures, where it finds a Postgres to measure with, as the tests find theirs.
 */
import type { FoundPostgres } from "../postgres/find.ts";
import { freshDatabase } from "../postgres/fresh-database.ts";
import { type HopLatency, measureHops, stepsInARow } from "./hop-latency.ts";

const hops = "Hops on the local workerd";

/** Measures the hops and describes them. A build that cannot measure says why, and is none the worse. */
export async function hopReport(find: () => Promise<FoundPostgres>): Promise<string> {
  let postgres: FoundPostgres | undefined;
  try {
    postgres = await find();
    const database = await freshDatabase(postgres.url);
    try {
      return describeHops(await measureHops(database.url));
    } finally {
      await database.drop();
    }
  } catch (error) {
    return `${hops}: not measured, because of an ${error}`;
  } finally {
    await postgres?.stop();
  }
}

/** Describes the latencies in one line, for people. */
export function describeHops(latencies: readonly HopLatency[]): string {
  const each = latencies.map(({ way, ms }) => `${way} ${ms.toFixed(1)} ms`).join(", ");
  return `${hops}, for a step of ${stepsInARow} in a row: ${each}`;
}
