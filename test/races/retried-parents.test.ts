/** A run is not retried before the runs that it would wait for again are repaired: those that have failed, or are about to. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { rowsOn } from "./rows.ts";
import { aRecord, aRun, aRunAtWork, type Run, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "the retry of a run",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "a run that has closed, or ends, has nothing to wait for",
        "a parked run is ready from its cancel, its timeout or the end of its cleanups' hour on",
        "positions are dense from 1, and last_position is the last",
      ],
    });
    const { set, write } = rowsOn(stage);
    const over = "ended_at = layover.now(), due_at = null, ready_at = null";

    /** It has failed after a step that it keeps. It had started a run at the place `part`. */
    async function aFailedParent(ofChild: string): Promise<{ readonly parent: Run; readonly child: Run }> {
      const parent = await aRunAtWork(stage);
      const child = await aRun(stage);
      await stage.onlooker.query(
        "update layover.run set parent_run_id = $2, parent_path = 'part', parent_occurrence = 1 where id = $1",
        [child.id, parent.id],
      );
      await set(child, `has_parent = true, ${ofChild}`);
      const records = [aRecord("step", "a"), aRecord("step", "b", { isFailure: true })];
      const failure = { at: 2, timeouts: [], lost: [], repeats: [] };
      await parent.finish(stage.onlooker, { token: "first", records, next: "failed", value: "0{}", failure });
      return { parent, child };
    }
    const retry = (run: Run) =>
      stage.onlooker.call("retry_run", { runId: run.id, callId: randomUUID(), armed: [soon] });

    test.each([
      ["has failed", `status = 'failed', error = '0null', ${over}`],
      ["was cancelled", `status = 'cancelled', error = '0null', ${over}`],
      ["is asked to end", "cancel_requested_at = layover.now()"],
      ["is cancelled", "cancelled_position = 1"],
      ["closes what is open", "is_closing = true"],
      ["undoes its steps", "ending_position = 1"],
    ])("is refused while one that it has started %s", async (_, assignments) => {
      const { parent, child } = await aFailedParent(assignments);
      expect(await retry(parent)).toMatchObject({ outcome: "child_failed", children: [child.id] });
    });

    test.each([
      ["is at work", "status = status"],
      ["has completed", `status = 'completed', ${over}`],
      ["has completed before its cancel came through", `status = 'completed', cancel_requested_at = 'epoch', ${over}`],
      ["has completed with all that was open", `status = 'completed', is_closing = true, ${over}`],
    ])("is done while one that it has started %s", async (_, assignments) => {
      const { parent } = await aFailedParent(assignments);
      expect(await retry(parent)).toMatchObject({ outcome: "retried", kept: 1 });
    });

    test("is done where it only goes on undoing, whatever has become of what it has started", async () => {
      const { parent } = await aFailedParent(`status = 'failed', error = '0null', ${over}`);
      await set(parent, "ending_position = 2, undos = 1, failed_undos = 1");
      await stage.look(
        "update layover.record set kind = 'ending', path = '', value = '{\"owed\":[]}', is_failure = false where run_id = $1 and position = 2",
        [parent.id],
      );
      expect(await retry(parent)).toMatchObject({ outcome: "retried", kept: 2 });
    });

    test("is refused though the end of the one that has failed was kept in an epoch before", async () => {
      const { parent, child } = await aFailedParent(`status = 'failed', error = '0null', ${over}`);
      await write("record", parent, {
        ...{ epoch: "7", position: "1", kind: "'child'", path: "'part'", occurrence: "1", value: "'0null'" },
        ...{ is_failure: "true", recorded_at: "layover.now()", attempts: "0" },
      });
      expect(await retry(parent)).toMatchObject({ outcome: "child_failed", children: [child.id] });
    });
  },
  { perTest: true },
);
