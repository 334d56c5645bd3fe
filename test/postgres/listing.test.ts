/** Pages of runs: newest first, each run once, of one namespace, and only those that were asked for. */
import { describe, expect, test } from "vitest";
import type { ListCall } from "../../src/postgres/wire-verbs.ts";
import { aStart } from "../races/runs.ts";
import { stageOn } from "../races/stage.ts";
import { describeEachPostgres } from "./database.ts";

/** As they were made, one after the other. */
const idOf = (n: number) => `00000000-0000-7000-8000-00000000000${n}`;

describeEachPostgres(
  "a list of runs",
  (database) => {
    const stage = stageOn(database);
    const list = async (call: Partial<ListCall> & { readonly namespace?: string } = {}) => {
      const { runs } = await stage.onlooker.call("list_runs", { limit: 10, ...call });
      return runs.map(({ runId }) => Number(runId.at(-1)));
    };
    const start = (n: number, more: object) => stage.onlooker.call("start_run", { ...aStart(idOf(n)), ...more });
    const red = { colour: "red", edge: "red" };

    async function someRuns(): Promise<void> {
      await start(3, { tags: red });
      await start(1, { tags: red });
      await start(2, { tags: { colour: "blue", edge: "red" } });
      await start(4, { tags: red, workflow: "other" });
      await start(5, {});
      await start(6, { tags: red, namespace: "elsewhere" });
      await start(7, { namespace: "elsewhere" });
    }

    describe.each([
      ["all", {}, [5, 4, 3, 2, 1]],
      ["those of a workflow", { workflow: "flow" }, [5, 3, 2, 1]],
      ["those with a tag", { tags: { edge: "red" } }, [4, 3, 2, 1]],
      ["those with several tags", { tags: red }, [4, 3, 1]],
      ["those of a workflow with several tags", { workflow: "flow", tags: red }, [3, 1]],
      ["those of a status with a tag", { status: "queued", tags: { edge: "red" } }, [4, 3, 2, 1]],
    ])("of %s", (_, call, found) => {
      test("has each of them once, newest first", async () => {
        await someRuns();
        expect(await list(call)).toEqual(found);
      });

      test("goes on behind the last one of the page ahead", async () => {
        await someRuns();
        const pages: number[] = [];
        for (let last: number | undefined = 9; last !== undefined; last = pages.at(-1)) {
          const page = await list({ ...call, limit: 1, before: idOf(last) });
          expect(page.length).toBeLessThanOrEqual(1);
          if (page.length === 0) break;
          pages.push(...page);
        }
        expect(pages).toEqual(found);
      });

      test("has none that was asked for as something else", async () => {
        await someRuns();
        expect(await list({ ...call, status: "completed" })).toEqual([]);
      });
    });

    test.each([{ tags: { colour: "green" } }, { tags: { edge: "blue" } }, { tags: { ...red, size: "red" } }])(
      "has none where no run has all that is asked for: %o",
      async (call) => {
        await someRuns();
        await start(8, { tags: { size: "red" } });
        expect(await list(call)).toEqual([]);
      },
    );

    test("is empty where there are none", async () => {
      expect(await list()).toEqual([]);
    });

    test("leaves out what is pruned while it is made", async () => {
      await someRuns();
      const gate = await stage.gate("layover.tag", "access exclusive");
      const reader = await stage.session("reader");
      const answer = reader.call("list_runs", { limit: 10 });
      await reader.untilBlocked(gate);
      await gate.query("select layover.delete_rows($1)", [idOf(3)]);
      await gate.commit();
      expect((await answer).runs.map(({ runId }) => Number(runId.at(-1)))).toEqual([5, 4, 2, 1]);
    });
  },
  { perTest: true },
);
