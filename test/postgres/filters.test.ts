/** Which runs a filter means, each of its keys alone and together with one that has an index of its own. */
import { expect, test } from "vitest";
import { aRun, minute, noon, type Run, second } from "../races/runs.ts";
import { stageOn } from "../races/stage.ts";
import { describeSomePostgres } from "./database.ts";

describeSomePostgres(
  "a filter",
  (database) => {
    const stage = stageOn(database);
    const set = (run: Run | undefined, assignments: string) =>
      stage.look(`update layover.run_state set ${assignments} where run_id = $1 returning run_id`, [run?.id]);
    const end = (run: Run | undefined, seconds: number) =>
      set(
        run,
        `status = 'completed', result = '0null', ready_at = null, due_at = null, ended_at = layover.from_ms(${noon + seconds * second})`,
      );
    /** Five runs, a second apart, all with one tag. */
    const five = async () => {
      const runs: Run[] = [];
      for (let number = 0; number < 5; number += 1) {
        const at = noon + number * second;
        await stage.clock.set(at);
        const time = at.toString(16).padStart(12, "0");
        const runId = `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-00000000000${number}`;
        runs.push(await aRun(stage, { runId, tags: { shop: "one" } }));
      }
      await stage.clock.set(noon + minute);
      return runs;
    };
    /** The numbers of the runs that are found. */
    const found = async (runs: readonly Run[], filter: object) => {
      const told = await stage.onlooker.call("list_runs", { limit: 10, ...filter });
      return told.runs.map(({ runId }) => runs.findIndex(({ id }) => id === runId));
    };

    test("of no key means all, newest first", async () => {
      expect(await found(await five(), {})).toEqual([4, 3, 2, 1, 0]);
    });

    test("of a version means those of that version", async () => {
      const runs = await five();
      await stage.look("update layover.run set version = 2 where id = $1 returning id", [runs[1]?.id]);
      expect(await found(runs, { workflow: "flow", version: 2 })).toEqual([1]);
      expect(await found(runs, { workflow: "flow", version: 1 })).toEqual([4, 3, 2, 0]);
    });

    test("of the time of the start means those from one instant to before another", async () => {
      const runs = await five();
      expect(await found(runs, { createdFrom: noon + 2 * second })).toEqual([4, 3, 2]);
      expect(await found(runs, { createdBefore: noon + 2 * second })).toEqual([1, 0]);
      expect(await found(runs, { createdFrom: noon + second, createdBefore: noon + 3 * second })).toEqual([2, 1]);
    });

    test("of the time of the end means those that are over", async () => {
      const runs = await five();
      for (const number of [1, 2, 3]) await end(runs[number], 10 * number);
      expect(await found(runs, { endedFrom: noon + 20 * second })).toEqual([3, 2]);
      expect(await found(runs, { endedBefore: noon + 20 * second })).toEqual([1]);
      expect(await found(runs, { endedFrom: noon, createdBefore: noon + 2 * second })).toEqual([1]);
    });

    test.each([
      ["alone", {}],
      ["among those of a tag", { tags: { shop: "one" } }],
    ])("of what is not over, paused or held means those, %s", async (_, more) => {
      const runs = await five();
      await end(runs[0], 10);
      await set(runs[1], "paused_at = layover.now(), due_at = null");
      await set(runs[2], "paused_at = layover.now(), is_held = true, due_at = null");
      expect(await found(runs, { isLive: true, ...more })).toEqual([4, 3, 2, 1]);
      expect(await found(runs, { isLive: true, isPaused: true, ...more })).toEqual([2, 1]);
      expect(await found(runs, { isLive: true, isPaused: false, ...more })).toEqual([4, 3]);
      expect(await found(runs, { isLive: true, isPaused: true, isHeld: true, ...more })).toEqual([2]);
    });

    /** A change after which one run fits the filter no more. */
    type Unfit = (run: Run) => Promise<unknown>;
    const write =
      (text: string): Unfit =>
      ({ id }) =>
        stage.onlooker.query(text, [id]);
    const away: Unfit = async (run) => {
      for (const [table, key] of [
        ["run", "id"],
        ["run_state", "run_id"],
        ["tag", "run_id"],
      ])
        await write(`update layover.${table} set namespace = 'other' where ${key} = $1`)(run);
    };
    const all = (assignments: string) => () => stage.onlooker.query(`update layover.run_state set ${assignments}`);
    const failed = all("status = 'failed', error = '0null', ready_at = null, due_at = null, ended_at = layover.now()");
    const blocked = all("blocked = 'no', due_at = null");
    const over: Unfit = (run) => end(run, 10);
    const parent = "00000000-0000-7000-8000-00000000000a";
    const children = () => stage.onlooker.query("update layover.run set parent_run_id = $1", [parent]);
    const nothing = async () => {};

    test.each<readonly [what: string, filter: object, prepare: () => Promise<unknown>, unfit: Unfit]>([
      ["of a parent", { parent }, children, write("update layover.run set parent_run_id = null where id = $1")],
      [
        "of a tag, past other values",
        { tags: { shop: "one" } },
        nothing,
        write("update layover.tag set value = 'two' where run_id = $1"),
      ],
      [
        "of a tag, past other names",
        { tags: { shop: "one" } },
        nothing,
        write("update layover.tag set name = 'town' where run_id = $1"),
      ],
      ["of a tag, past other namespaces", { tags: { shop: "one" } }, nothing, away],
      [
        "that are blocked",
        { status: "blocked" },
        blocked,
        write("update layover.run_state set blocked = null, due_at = layover.now() where run_id = $1"),
      ],
      ["that are blocked, past other namespaces", { status: "blocked" }, blocked, away],
      [
        "that failed",
        { status: "failed" },
        failed,
        write("update layover.run_state set status = 'completed', error = null, result = '0null' where run_id = $1"),
      ],
      ["that failed, past other namespaces", { status: "failed" }, failed, away],
      [
        "that were cancelled",
        { status: "cancelled" },
        all("status = 'cancelled', error = '0null', ready_at = null, due_at = null, ended_at = layover.now()"),
        write("update layover.run_state set status = 'completed', error = null, result = '0null' where run_id = $1"),
      ],
      ["that are queued", { status: "queued" }, nothing, over],
      ["that are queued, past other namespaces", { status: "queued" }, nothing, away],
      ["that are not over", { isLive: true }, nothing, over],
      [
        "of a workflow",
        { workflow: "flow" },
        nothing,
        write("update layover.run set workflow = 'other' where id = $1"),
      ],
      ["of a workflow, past other namespaces", { workflow: "flow" }, nothing, away],
      [
        "of a workflow that completed",
        { workflow: "flow", status: "completed" },
        all("status = 'completed', result = '0null', ready_at = null, due_at = null, ended_at = layover.now()"),
        write("update layover.run set workflow = 'other' where id = $1"),
      ],
    ])("walks along an index of those %s", async (_, filter, prepare, unfit) => {
      const runs = await five();
      await prepare();
      for (const run of runs.slice(1)) await unfit(run);
      expect(await found(runs, { ...filter, walk: 1 })).toEqual([0]);
    });

    test.each<readonly [what: string, filter: object, prepare: () => Promise<unknown>]>([
      ["a parent", { parent }, children],
      ["a tag", { tags: { shop: "one" } }, nothing],
      ["what is blocked", { status: "blocked" }, blocked],
      ["what failed", { status: "failed" }, failed],
      ["what is queued", { status: "queued" }, nothing],
      ["a workflow", { workflow: "flow" }, nothing],
      ["all", {}, nothing],
    ])("begins each page behind the one ahead: of %s", async (_, filter, prepare) => {
      const runs = await five();
      await prepare();
      expect(await found(runs, { ...filter, before: runs[3]?.id, limit: 2, walk: 2 })).toEqual([2, 1]);
    });
  },
  { perTest: true },
);
