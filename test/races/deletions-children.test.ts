/** A run that another one has invoked is deleted: what the other one keeps of it, so that it still undoes it. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aChild } from "./invoking.ts";
import { rowsOn } from "./rows.ts";
import { aRunAtWork, Run } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "a run that was invoked and is deleted",
  (database) => {
    const stage = stageOn(database, { breaks: ["positions are dense from 1, and last_position is the last"] });
    const { set } = rowsOn(stage);

    /** Both are over or at work; the parent knows nothing of the child, as after a race that the child has lost. */
    async function aFamily(more: object = {}) {
      const parent = await aRunAtWork(stage);
      const start = aChild("it", more);
      const sibling = aChild("its sibling", { ordinal: 2 });
      await parent.finish(stage.onlooker, { token: "first", children: [start, sibling] });
      const child = new Run(stage, start.runId);
      for (const one of [child, new Run(stage, sibling.runId)]) {
        await one.claim(stage.onlooker, { token: one.id });
        await one.finish(stage.onlooker, { token: one.id, next: "completed", value: '0"done"' });
      }
      await stage.onlooker.query("delete from layover.pending where run_id = $1", [parent.id]);
      return { parent, child };
    }
    const remove = ({ id }: Run) => stage.onlooker.call("delete_run", { runId: id, callId: randomUUID() });
    const attempts = ({ id }: Run) =>
      stage.look("select epoch, path, occurrence, number, error from layover.attempt where run_id = $1", [id]);
    const attempt = { path: "it", occurrence: 1, number: 1, error: expect.stringContaining('"interrupted"') };

    test("leaves an attempt with the run that has invoked it, and with no other", async () => {
      const [{ parent, child }, other] = [await aFamily(), await aFamily()];
      expect(await remove(child)).toMatchObject({ outcome: "deleted" });
      expect(await attempts(parent)).toEqual([{ epoch: 0, ...attempt }]);
      expect(await attempts(other.parent)).toEqual([]);
    });

    test("leaves it in the epoch in which that run is", async () => {
      const { parent, child } = await aFamily();
      await set(parent, "epoch = 2");
      await remove(child);
      expect(await attempts(parent)).toEqual([{ epoch: 2, ...attempt }]);
    });

    test.each([
      ["restarted", "after the child's start", 0, "1 second"],
      ["continued", "after the child's start", 0, "1 second"],
      ["restarted", "with the child's start", 1, "0 seconds"],
      ["retried", "after the child's start", 1, "1 second"],
    ])("where that run was %s %s leaves it %i attempts", async (why, _when, count, later) => {
      const [{ parent, child }, other] = [await aFamily(), await aFamily()];
      await stage.onlooker.query(
        `insert into layover.epoch (run_id, epoch, why, input, is_input_parsed, began_at, kept, segments)
           select r.parent_run_id, 1, $2, '0{}', true, r.created_at + $3::interval, 0, '[]' from layover.run r where r.id = $1`,
        [child.id, why, later],
      );
      for (const { id } of [child, other.child]) await remove(new Run(stage, id));
      expect(await attempts(parent)).toHaveLength(count);
      expect(await attempts(other.parent)).toHaveLength(1);
    });

    const recorded = (epoch: number, path: string, occurrence: number) => (run: Run) =>
      stage.onlooker.query(
        `insert into layover.record (run_id, epoch, position, kind, path, occurrence, attempts, is_failure, recorded_at)
           values ($1, $2, 1, 'child', $3, $4, 1, false, layover.now())`,
        [run.id, epoch, path, occurrence],
      );
    const waiting = (path: string, occurrence: number) => (run: Run) =>
      stage.onlooker.query(
        `insert into layover.pending (run_id, kind, path, occurrence, demanded_after, ordinal, until)
           values ($1, 'sleep', $2, $3, 0, 1, layover.now() + interval '1 day')`,
        [run.id, path, occurrence],
      );
    test.each<readonly [string, number, (run: Run) => Promise<unknown>]>([
      ["that is over", 0, ({ id }) => stage.onlooker.call("terminate_run", { runId: id, callId: randomUUID() })],
      ["that has recorded its end", 0, recorded(0, "it", 1)],
      ["that has recorded something of an earlier epoch", 1, recorded(3, "it", 1)],
      ["that has recorded something at another path", 1, recorded(0, "that", 1)],
      ["that has recorded something at another occurrence", 1, recorded(0, "it", 2)],
      ["that has its end in a row", 0, waiting("it", 1)],
      ["that waits at another path", 1, waiting("that", 1)],
      ["that waits at another occurrence", 1, waiting("it", 2)],
    ])("in a run %s it leaves %i attempts", async (_, count, change) => {
      const [{ parent, child }, other] = [await aFamily(), await aFamily()];
      await change(parent);
      await set(other.parent, "epoch = 7");
      for (const { id } of [child, other.child]) await remove(new Run(stage, id));
      expect(await attempts(parent)).toHaveLength(count);
      expect(await attempts(other.parent)).toHaveLength(1);
    });

    test("leaves the attempt that is there, as where a retry has made it again and it is deleted again", async () => {
      const { parent, child } = await aFamily();
      await stage.onlooker.query(
        `insert into layover.attempt (run_id, epoch, path, occurrence, number, began_at, ended_at, error)
           values ($1, 0, 'it', 1, 1, layover.now(), layover.now(), '0{}')`,
        [parent.id],
      );
      expect(await remove(child)).toMatchObject({ outcome: "deleted" });
      expect(await attempts(parent)).toEqual([{ epoch: 0, ...attempt, error: "0{}" }]);
    });

    test("leaves nothing with a run that only started it", async () => {
      const { parent, child } = await aFamily({ isDetached: true });
      await set(parent, "epoch = 2"); // it has no record of the start there
      await remove(child);
      expect(await attempts(parent)).toEqual([]);
    });
  },
  { perTest: true },
);
