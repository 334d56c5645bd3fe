/** What a person is shown who opens a callback's page: whether it can still be answered, and until when. */
import { describe, expect, test } from "vitest";
import { aDemand, aParkedRun, at, minute, noon, type Run, soon } from "../races/runs.ts";
import { stageOn } from "../races/stage.ts";
import { anEnd } from "../races/undoing.ts";
import { describeEachPostgres } from "./database.ts";

describeEachPostgres(
  "the page of a callback",
  (database) => {
    const stage = stageOn(database);
    const until = noon + minute;
    const aRunWaitingFor = (...paths: string[]) => {
      const demands = paths.map((path, index) => aDemand("callback", path, { ordinal: index + 1, until }));
      return aParkedRun(stage, demands);
    };
    const page = async (run: Run, more: object = {}) => {
      const call = { namespace: "default", runId: run.id, epoch: 0, ...at("approval"), ...more };
      const [row] = await stage.onlooker.query("select layover.read_callback($1) as answer", [JSON.stringify(call)]);
      return row?.["answer"];
    };
    const open = { outcome: "open", until };

    test("is open until its wait is over, to the millisecond", async () => {
      const run = await aRunWaitingFor("approval");
      expect(await page(run)).toEqual(open);
      await stage.clock.set(until);
      expect(await page(run)).toEqual(open);
      await stage.clock.set(until + 1);
      expect(await page(run)).toEqual({ outcome: "expired", until });
    });

    test("is open where nobody has recorded its wait yet", async () => {
      const run = await aRunWaitingFor("approval");
      expect(await page(run, at("later"))).toEqual({ outcome: "open", until: null });
    });

    test.each(["resolved", "rejected"] as const)("says that it was %s, for good", async (outcome) => {
      const run = await aRunWaitingFor("approval");
      await run.answer(stage.onlooker, "approval", { outcome, value: "0null" });
      expect(await page(run)).toEqual({ outcome, until });
      await stage.clock.set(until + 1);
      expect(await page(run)).toEqual({ outcome, until });
    });

    describe("is open, whatever became of", () => {
      test.each([
        ["another one of its run", at("other")],
        ["the next one of its name", { path: "approval", occurrence: 2 }],
      ])("%s", async (_, place) => {
        const run = await aRunWaitingFor("approval");
        await stage.onlooker.query(
          `insert into layover.pending (run_id, path, occurrence, kind, demanded_after, ordinal)
            values ($1, $2, $3, 'callback', 0, 2)`,
          [run.id, place.path, place.occurrence],
        );
        await run.answer(stage.onlooker, "approval", { armed: [soon], ...place });
        expect(await page(run, place)).toEqual({ outcome: "resolved", until: null });
        expect(await page(run)).toEqual(open);
      });

      test("that of another run", async () => {
        const run = await aRunWaitingFor("approval");
        const other = await aRunWaitingFor("approval");
        await stage.onlooker.query("update layover.pending set until = null where run_id = $1", [other.id]);
        await other.answer(stage.onlooker, "approval");
        expect(await page(run)).toEqual(open);
        expect(await page(other)).toEqual({ outcome: "resolved", until: null });
      });

      test("that of another epoch", async () => {
        const run = await aRunWaitingFor("approval");
        await run.answer(stage.onlooker, "approval");
        await stage.onlooker.query("update layover.run_state set epoch = 1 where run_id = $1", [run.id]);
        expect(await page(run, { epoch: 1 })).toEqual(open);
        expect(await page(run)).toEqual({ outcome: "resolved", until });
      });
    });

    test("is over with its run, and with its epoch", async () => {
      const run = await aRunWaitingFor("approval");
      expect(await page(run, { epoch: 1 })).toEqual({ outcome: "over", until });
      await run.claim(stage.onlooker, { token: "second", turn: 2 });
      await stage.onlooker.query("update layover.run_state set ready_at = layover.now() where run_id = $1", [run.id]);
      expect(await run.claim(stage.onlooker, { token: "second", turn: 2 })).toMatchObject({ outcome: "claimed" });
      await run.finish(stage.onlooker, { token: "second", next: "completed", value: "0null" });
      expect(await page(run)).toEqual({ outcome: "over", until: null });
    });

    test.each<readonly [what: string, act: (run: Run) => Promise<unknown>]>([
      ["closes", (run) => run.operate(stage.onlooker, "cancel")],
      [
        "has failed and is being undone",
        async (run) => {
          await stage.onlooker.query("update layover.run_state set ready_at = 'epoch' where run_id = $1", [run.id]);
          await run.claim(stage.onlooker, { token: "second", turn: 2 });
          await run.finish(stage.onlooker, anEnd({ token: "second" }));
        },
      ],
    ])("is over where its run %s, as an answer is told", async (_, act) => {
      const run = await aRunWaitingFor("approval");
      await act(run);
      await run.claim(stage.onlooker, { token: "third", turn: 2 });
      expect(await page(run)).toEqual({ outcome: "over", until: null });
      expect(await run.answer(stage.onlooker, "approval")).toEqual({ outcome: "over" });
    });

    test("is unknown where the run is, or belongs to another namespace", async () => {
      const run = await aRunWaitingFor("approval");
      expect(await page(run, { namespace: "elsewhere" })).toEqual({ outcome: "unknown" });
      expect(await page(run, { runId: "00000000-0000-7000-8000-000000000001" })).toEqual({ outcome: "unknown" });
    });
  },
  { perTest: true },
);
