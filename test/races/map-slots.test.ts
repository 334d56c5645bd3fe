/** The slots of a map: none is lost and none is given twice, also where a race in the map is decided, or a finish deferred. */
import { describe, expect, test } from "vitest";
import type { FinishAnswer } from "../../src/postgres/wire.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import { aDemand, aFanOut, aMap, aParkedRun, aRunAtWork, at, branches, minute, noon, type Run } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "of a map with slots",
  (database) => {
    const stage = stageOn(database);
    const queued = async (run: Run) =>
      Object.entries(await run.pending()).flatMap(([path, { isQueued }]) => (isQueued ? [path] : []));
    const slots = async (run: Run) =>
      (await stage.look("select slots, counted from layover.map where run_id = $1", [run.id]))[0];
    /** Its continuation is under way. */
    const goOn = async (run: Run, turn = 2) => {
      await stage.onlooker.query("update layover.run_state set ready_at = layover.now() where run_id = $1", [run.id]);
      await run.claim(stage.onlooker, { token: turn === 2 ? "second" : "third", turn });
    };

    describe("the first in the queue is ready as soon as a slot is free, whenever it was to be tried again:", () => {
      /** A step failed; then other code of the same version asked for it in a map, behind these. Those that have a slot are at work. */
      const aQueue = async (ahead: readonly string[], slots: number) => {
        const run = await aRunAtWork(stage);
        const attempt = { number: 1, beganAt: noon, endedAt: noon, error: "0null", retryInMs: 5 * minute };
        const failed = { ...attempt, ...at("all/y"), demandedAfter: 0 };
        await run.finish(stage.onlooker, { token: "first", attempt: failed });
        await goOn(run);
        const demands = branches([...ahead, "all/y"], { path: "all", slots, failsFast: false });
        await run.finish(stage.onlooker, { token: "second", demands });
        for (const path of ahead.slice(0, slots)) await run.claimBranch(stage.onlooker, path, { token: path });
        return run;
      };
      const ways: Readonly<Record<string, () => Promise<readonly [run: Run, answers: readonly FinishAnswer[]]>>> = {
        "by the finish of the one ahead": async () => {
          const run = await aQueue(["all/x"], 1);
          return [run, [await run.finishBranch(stage.onlooker, "all/x", { token: "all/x" })]];
        },
        "by two finishes in one call": async () => {
          const run = await aQueue(["all/x", "all/z"], 2);
          const turns = ["all/x", "all/z"].map((path) => run.toFinishBranch(path, { token: path }));
          return [run, (await stage.onlooker.call("finish_turns", { turns })).turns];
        },
        "by the decision of a race": async () => {
          const run = await aQueue(["all/race[0]", "all/race[1]", "all/x"], 2);
          await run.finishBranch(stage.onlooker, "all/race[0]", { token: "all/race[0]" });
          await goOn(run, 3);
          const released = [{ prefix: "all/race[", position: 1 }];
          return [run, [await run.finish(stage.onlooker, { token: "third", position: 1, released })]];
        },
      };

      test.each(Object.entries(ways))("%s", async (_, free) => {
        const [run, answers] = await free();
        const told = answers.flatMap((answer) => ("branches" in answer ? (answer.branches ?? []) : []));
        expect(told).toMatchObject([{ path: "all/y" }]);
        const claim = await run.claimBranch(stage.onlooker, "all/y", { token: "all/y" });
        expect(claim).toMatchObject({ outcome: "claimed", attempts: 1 });
      });
    });

    describe("where a race is decided", () => {
      const race = [0, 1, 2].map((place) => `all/race[${place}]`);
      const decide = (run: Run, position = 1) => {
        const released = [{ prefix: "all/race[", position: 1 }];
        return run.finish(stage.onlooker, { token: "second", position, released });
      };

      test("the slot of a loser at work goes to the first in the queue", async () => {
        const run = await aMap(stage, [...race.slice(0, 2), "all/x", "all/y"], { slots: 2 });
        await run.finishBranch(stage.onlooker, "all/race[0]", { token: "all/race[0]" });
        await goOn(run);
        expect(await decide(run)).toMatchObject({ branches: [{ path: "all/y" }] });
        expect(await queued(run)).toEqual([]);
        expect(await slots(run)).toEqual({ slots: 0, counted: 2 });
      });

      test("a loser at work is counted by no map any more", async () => {
        const run = await aMap(stage, race);
        await run.finishBranch(stage.onlooker, "all/race[0]", { token: "all/race[0]" });
        await goOn(run);
        await decide(run);
        const losers = await stage.look(
          "select map, is_counted from layover.pending where run_id = $1 and is_released",
          [run.id],
        );
        expect(losers).toEqual([
          { map: null, is_counted: false },
          { map: null, is_counted: false },
        ]);
      });

      test("a loser that queued has none to give", async () => {
        const run = await aMap(stage, [...race, "all/x", "all/y"], { slots: 1 });
        await run.finishBranch(stage.onlooker, "all/race[0]", { token: "all/race[0]" });
        await goOn(run);
        expect(await decide(run)).toMatchObject({ branches: [{ path: "all/x" }] });
        expect(await queued(run)).toEqual(["all/y"]);
        expect(await slots(run)).toEqual({ slots: 0, counted: 2 });
      });

      test("slots go to the queue of that map in that run, in its order, and to each place once", async () => {
        const all = { path: "all", slots: 3, failsFast: false };
        const demands = [
          ...branches(["both/a", "both/b"], { path: "both", slots: 1, failsFast: false }),
          ...race.map((path, index) => aDemand("branch", path, { ordinal: 3 + index, map: all })),
          ...[1, 2, 3, 4].map((occurrence) =>
            aDemand("branch", "all/x", { occurrence, ordinal: 5 + occurrence, map: all }),
          ),
        ];
        const places = async (run: Run) =>
          (
            await stage.look(
              "select path, occurrence from layover.pending where run_id = $1 and is_queued order by ordinal",
              [run.id],
            )
          ).map(({ path, occurrence }) => `${path}#${occurrence}`);
        const rows = async (...runs: readonly Run[]) => {
          const ids = runs.map(({ id }) => id);
          const of = (table: string) =>
            stage.look(`select * from layover.${table} where run_id = any ($1) order by run_id, path`, [ids]);
          return [await of("pending"), await of("map")];
        };
        const run = await aParkedRun(stage, demands);
        for (const path of race) await run.claimBranch(stage.onlooker, path, { token: path });
        const others = [await aParkedRun(stage, demands), await aMap(stage, ["all/z"], { slots: 5 })];
        const before = await rows(...others);

        const recorded = await run.finishBranch(stage.onlooker, "all/race[0]", { token: "all/race[0]" });
        expect(recorded).toMatchObject({ branches: [{ path: "all/x", occurrence: 1 }] });
        expect(await places(run)).toEqual(["both/b#1", "all/x#2", "all/x#3", "all/x#4"]);
        await goOn(run);
        expect(await decide(run)).toMatchObject({
          branches: [
            { path: "all/x", occurrence: 2 },
            { path: "all/x", occurrence: 3 },
          ],
        });
        expect(await places(run)).toEqual(["both/b#1", "all/x#4"]);
        expect((await rows(run))[1]).toMatchObject([
          { path: "all", slots: 0 },
          { path: "both", slots: 0 },
        ]);
        expect(await rows(...others)).toEqual(before);
      });

      test("by a finish that is deferred, the same", async () => {
        const run = await aMap(stage, [...race, "all/x", "all/y"], { slots: 2 });
        await run.finishBranch(stage.onlooker, "all/race[0]", { token: "all/race[0]" });
        await goOn(run);
        await run.claimBranch(stage.onlooker, "all/race[2]", { token: "all/race[2]" });
        await run.finishBranch(stage.onlooker, "all/race[2]", { token: "all/race[2]" });
        const answer = await decide(run);
        expect(answer).toMatchObject({ outcome: "deferred", branches: [{ path: "all/y" }] });
        expect(await queued(run)).toEqual([]);
      });
    });

    test("that a deferred finish asks for, as many items begin as it has; what is asked from later on is dropped", async () => {
      const run = await aFanOut(stage, ["first"]);
      await goOn(run);
      await run.finishBranch(stage.onlooker, "first", { token: "first" });
      const items = branches(["all/a", "all/b", "all/c"], { path: "all", slots: 2, failsFast: false });
      const later = branches(["late/a"], { path: "late", slots: 1, failsFast: false });
      const demands = [...items, ...later.map((demand) => ({ ...demand, demandedAfter: 1 }))];
      const answer = await run.finish(stage.onlooker, { token: "second", position: 0, demands });
      expect(answer).toMatchObject({ outcome: "deferred", branches: [{ path: "all/a" }, { path: "all/b" }] });
      expect(await queued(run)).toEqual(["all/c"]);
      expect(await stage.look("select path, slots, counted from layover.map")).toEqual([
        { path: "all", slots: 0, counted: 3 },
      ]);
    });

    test("of another run, of the same name, none is given or taken", async () => {
      const paths = ["all/a", "all/b", "all/c"];
      const run = await aMap(stage, paths, { slots: 1 });
      const other = await aMap(stage, paths, { slots: 1 });
      const before = [await slots(other), await other.pending()];
      const answer = await run.finishBranch(stage.onlooker, "all/a", { token: "all/a" });
      expect(answer).toMatchObject({ branches: [{ path: "all/b" }] });
      expect([await slots(other), await other.pending()]).toEqual(before);
      expect(await slots(run)).toEqual({ slots: 0, counted: 2 });
    });

    test("demanded without, all begin", async () => {
      const run = await aParkedRun(stage, branches(["all/a", "all/b"], { path: "all", slots: null, failsFast: false }));
      expect(await queued(run)).toEqual([]);
      expect(await slots(run)).toEqual({ slots: null, counted: 2 });
    });
  },
  { perTest: true },
);
