/** A branch that is recorded while a turn of its run is at work. */
import type { TestDatabase } from "../postgres/database.ts";

/** Records the branch that is at work, as its process does when the body is done. */
export async function recordBranch(database: TestDatabase, runId: string, namespace: string): Promise<void> {
  const [row] = await database.query(
    "select path, token, turn from layover.pending where run_id = $1 and token is not null",
    [runId],
  );
  const record = { value: '0"recorded meanwhile"', isFailure: false, at: 0, beganAt: 0, attempts: 1 };
  const turns = [{ runId, ...row, occurrence: 1, record, armed: [] }];
  await database.query("select layover.finish_turns($1)", [JSON.stringify({ namespace, turns })]);
}
