/** A run that its parent would wait for again after a retry is kept beyond its time, so that the parent does not start it once more. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { type Columns, ended, rowsOn } from "./rows.ts";
import { aRun, minute, noon, type Run } from "./runs.ts";
import { stageOn } from "./stage.ts";

const day = 24 * 60 * minute;
const hourAgo = noon - 60 * minute;

describeSomePostgres(
  "the walk of a prune leaves a run that its parent would wait for again:",
  (database) => {
    const stage = stageOn(database, {
      breaks: ["positions are dense from 1, and last_position is the last", "nothing is left of a run that is gone"],
    });
    const { set, write, wait } = rowsOn(stage);
    const prune = () => stage.onlooker.call("prune_runs", { limit: 10, keepMs: minute, keepFailedMs: 90 * day });
    const ends = (run: Run, at: number, state = "status = 'completed', result = '0null'") =>
      set(run, `${state}, ready_at = null, due_at = null, ended_at = layover.from_ms(${at})`);
    const isThere = async (run: Run) => Object.keys(await run.state()).length > 0;

    /** A run that has completed. Its parent is as `state` says. */
    async function aFamily(state: string, hasParent = true) {
      const [parent, child] = [await aRun(stage), await aRun(stage)];
      await ends(child, hourAgo);
      await set(child, `has_parent = ${hasParent}`);
      const parents =
        "update layover.run set parent_run_id = $2, parent_path = 'it', parent_occurrence = 1 where id = $1";
      await stage.onlooker.query(parents, [child.id, parent.id]);
      await set(parent, state);
      return { parent, child };
    }
    /** Whether the child is there after a prune. */
    async function isKept(state: string, hasParent = true): Promise<boolean> {
      const { child } = await aFamily(state, hasParent);
      await prune();
      return await isThere(child);
    }

    describe("one that failed", () => {
      const failed = "status = 'failed', error = '0null', ready_at = null, due_at = null, ended_at = layover.now()";

      test.each([
        ["and does not say what it waited for", failed, true],
        ["and waited for no such run: not", `${failed}, failure = '{"children": []}'`, false],
        ["and owes undos: not", `${failed}, ending_position = 1`, false],
      ])("%s", async (_, state, kept) => {
        expect(await isKept(state)).toBe(kept);
      });

      test.each([
        ["one that goes on", "turn = turn"],
        ["one that was cancelled", failed.replace("failed", "cancelled")],
        ["one that has completed", failed.replace("failed", "completed").replace("error", "result")],
      ])("not %s", async (_, state) => {
        expect(await isKept(state)).toBe(false);
      });

      test("while another one of its family did not", async () => {
        await ends(await aRun(stage), noon, "status = 'failed', error = '0null'");
        expect(await isKept("turn = turn")).toBe(false);
      });

      test("and no child of another parent", async () => {
        expect(await isKept(failed)).toBe(true);
        await stage.onlooker.query("delete from layover.pruning");
        expect(await isKept("turn = turn")).toBe(false);
      });

      test("but not one that was only started by it", async () => {
        expect(await isKept(failed, false)).toBe(false);
      });
    });

    describe("one that was retried", () => {
      const partOf = ({ id }: Run) => id.slice(-21);
      const record: Columns = {
        ...{ epoch: "1", position: "3", kind: "'child'", path: "'it'", occurrence: "1", value: "'0null'" },
        ...{ is_failure: "false", recorded_at: "layover.now()", attempts: "1" },
      };

      /** It has kept two records. Nobody has claimed it since. */
      async function aRetriedFamily(epoch: Columns = {}, state = "turn = turn") {
        const family = await aFamily(state.startsWith("epoch") ? state : `epoch = 1, ${state}`);
        const children = JSON.stringify([partOf(family.child)]);
        await write("epoch", family.parent, {
          ...{ epoch: "1", why: "'retried'", began_at: "layover.now()", kept: "2", segments: "'[]'", laps: "0" },
          ...{ is_input_parsed: "false", before: `'{"state": {"failure": {"children": ${children}}}}'`, ...epoch },
        });
        return family;
      }
      type Family = Awaited<ReturnType<typeof aRetriedFamily>>;
      const isKeptWhere = async (family: Family, arrange: (family: Family) => Promise<unknown> = async () => {}) => {
        await arrange(family);
        await prune();
        return await isThere(family.child);
      };

      test.each<readonly [what: string, epoch: Columns, state: string, kept: boolean]>([
        ["and has not asked for it yet", {}, "turn = turn", true],
        ["and was paused since", {}, "paused_at = layover.now(), due_at = null", true],
        ["and did not say what it waited for", { before: `'{"state": {"failure": null}}'` }, "turn = turn", true],
        [
          "and waited for no such run: not",
          { before: `'{"state": {"failure": {"children": []}}}'` },
          "turn = turn",
          false,
        ],
        ["and goes on undoing: not", {}, "ending_position = 1", false],
        [
          "and is over: not",
          {},
          "status = 'completed', result = '0null', ready_at = null, due_at = null, ended_at = layover.now()",
          false,
        ],
        [
          "and has failed again, without waiting for it: not",
          {},
          `status = 'failed', error = '0null', failure = '{"children": []}', ready_at = null, due_at = null, ended_at = layover.now()`,
          false,
        ],
        ["and was restarted since: not", { why: "'restarted'" }, "turn = turn", false],
        ["in an epoch before: not", {}, "epoch = 2", false],
      ])("%s", async (_, epoch, state, kept) => {
        expect(await isKeptWhere(await aRetriedFamily(epoch, state))).toBe(kept);
      });

      test.each<readonly [what: string, arrange: (family: Family) => Promise<unknown>, kept: boolean]>([
        [
          "and waits for it: not",
          ({ parent, child }) => wait(parent, "child", { ...ended, child_run_id: `'${child.id}'` }),
          false,
        ],
        ["and has recorded its end: not", ({ parent }) => write("record", parent, record), false],
        ["and waits for another place", ({ parent }) => wait(parent, "child", { path: "'that'" }), true],
        ["and waits for another occurrence", ({ parent }) => wait(parent, "child", { occurrence: "2" }), true],
        [
          "and has recorded another place",
          ({ parent }) => write("record", parent, { ...record, path: "'that'" }),
          true,
        ],
        [
          "and has recorded another occurrence",
          ({ parent }) => write("record", parent, { ...record, occurrence: "2" }),
          true,
        ],
        [
          "and keeps a record of that place",
          ({ parent }) => write("record", parent, { ...record, position: "2" }),
          true,
        ],
        [
          "and had recorded it in an epoch before",
          ({ parent }) => write("record", parent, { ...record, epoch: "0" }),
          true,
        ],
      ])("%s", async (_, arrange, kept) => {
        expect(await isKeptWhere(await aRetriedFamily(), arrange)).toBe(kept);
      });

      test.each<readonly [what: string, arrange: (other: Run) => Promise<unknown>]>([
        ["waits at that place", (other) => wait(other, "child", {})],
        ["has recorded that place", (other) => write("record", other, record)],
      ])("while another one %s", async (_, arrange) => {
        const [family, other] = [await aRetriedFamily(), await aRun(stage)];
        await set(other, "epoch = 1");
        expect(await isKeptWhere(family, () => arrange(other))).toBe(true);
      });

      test("not where another one was", async () => {
        const ofAll = { before: `'{"state": {"failure": null}}'` };
        const [family, other] = [await aRetriedFamily({ why: "'restarted'" }), await aRetriedFamily(ofAll)];
        expect(await isKeptWhere(family)).toBe(false);
        expect(await isThere(other.child)).toBe(true);
      });
    });
  },
  { perTest: true },
);
