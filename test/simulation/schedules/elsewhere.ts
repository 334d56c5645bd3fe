/** Another deployment on the same database. It declares something under the names of schedules that are not its own, one with each build. */
import type { Site } from "../site.ts";
import { declare, nameOf } from "./code.ts";
import type { Terms } from "./scenario.ts";

/** Its name. */
const elsewhere = "elsewhere";

/** The deployment that may adopt a schedule, and whether it is the simulated code's own now. */
export async function rivalOf(
  { pool }: Site,
  namespace: string,
  which: number,
): Promise<{ readonly owner: string; readonly isOurs: boolean }> {
  const { rows } = await pool.query<{ readonly owner: string | null; readonly is_ours: boolean }>(
    "select (select min(k) from jsonb_object_keys(v.declarations) as k) as owner, v.owner = 'server' as is_ours from layover.schedule v where v.namespace = $1 and v.name = $2",
    [namespace, nameOf(which)],
  );
  return { owner: rows[0]?.owner ?? elsewhere, isOurs: rows[0]?.is_ours === true };
}

/** Makes the call by which it declares a schedule. */
export function declarationElsewhere(namespace: string, which: number, terms: Terms): string {
  return JSON.stringify({
    namespace,
    deploymentName: elsewhere,
    deployment: "theirs",
    note: "deployed",
    versions: { quick: [1], slow: [1] },
    schedules: { [nameOf(which)]: { ...declare(which, terms).definition, computesInput: true } },
  });
}
