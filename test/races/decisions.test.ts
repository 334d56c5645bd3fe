/** The end of a turn in which a race is decided: what lost is let go, and each map has the slots and the items that it had. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aMap, aRunAtWork, branches, minute, noon, type Run, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "the decision of a race",
  (database) => {
    const stage = stageOn(database);
    const goOn = async (run: Run, turn: number, token: string) => {
      await stage.onlooker.query("update layover.run_state set ready_at = layover.now() where run_id = $1", [run.id]);
      return await run.claim(stage.onlooker, { token, turn });
    };
    const mapsOf = (run: Run) =>
      stage.look("select path, slots, counted from layover.map where run_id = $1 order by path", [run.id]);
    const released = (prefix: string, position = 1) => [{ prefix, position }];
    const failed = { number: 1, beganAt: noon, endedAt: noon, error: "0null", retryInMs: minute };

    test("lets begin the first ones that queue, in their order, of the maps that have slots", async () => {
      const run = await aRunAtWork(stage);
      const race = ["all/race[0]", "all/race[1]", "all/race[2]"];
      const demands = [
        ...branches([...race, "all/z", "all/y", "all/x"], { path: "all", slots: 3, failsFast: false }),
        ...branches(["more/b", "more/a"], { path: "more", slots: 1, failsFast: false }),
      ].map((one, index) => ({ ...one, ordinal: index }));
      await run.finish(stage.onlooker, { token: "first", demands });
      for (const path of [...race, "more/b"]) await run.claimBranch(stage.onlooker, path, { token: path });
      await run.finishBranch(stage.onlooker, race[0] ?? "", { token: race[0] ?? "" });
      await goOn(run, 2, "second");
      const decision = { token: "second", position: 1, released: released("all/race[") };
      const answer = await run.finish(stage.onlooker, decision);
      expect(answer).toMatchObject({ branches: [{ path: "all/y" }, { path: "all/x" }] });
      expect(await mapsOf(run)).toEqual([
        { path: "all", slots: 0, counted: 3 },
        { path: "more", slots: 0, counted: 2 },
      ]);
    });

    test("gives its own queue the slot, whatever queues or is free in another run", async () => {
      const run = await aMap(stage, ["all/race[0]", "all/race[1]", "all/x", "all/y"], { slots: 2 });
      await aMap(stage, ["all/p", "all/race[1]", "all/r"], { slots: 1 });
      await aMap(stage, ["all/s"], { slots: 9 });
      await run.finishBranch(stage.onlooker, "all/race[0]", { token: "all/race[0]" });
      await goOn(run, 2, "second");
      const decision = { token: "second", position: 1, released: released("all/race[") };
      expect(await run.finish(stage.onlooker, decision)).toMatchObject({ branches: [{ path: "all/y" }] });
      expect(await mapsOf(run)).toEqual([{ path: "all", slots: 0, counted: 2 }]);
    });

    test("gives the slot to the first of a name that queues, and not to the next one too", async () => {
      const run = await aRunAtWork(stage);
      const map = { path: "all", slots: 2, failsFast: false };
      const demands = branches(["all/race[0]", "all/race[1]", "all/x", "all/y", "all/y"], map);
      const [, , , , last] = demands;
      const again = last === undefined ? [] : [{ ...last, occurrence: 2 }];
      await run.finish(stage.onlooker, { token: "first", demands: [...demands.slice(0, 4), ...again] });
      for (const path of ["all/race[0]", "all/race[1]"]) await run.claimBranch(stage.onlooker, path, { token: path });
      await run.finishBranch(stage.onlooker, "all/race[0]", { token: "all/race[0]" });
      await goOn(run, 2, "second");
      const decision = { token: "second", position: 1, released: released("all/race[") };
      const answer = await run.finish(stage.onlooker, decision);
      expect(answer).toMatchObject({ branches: [{ path: "all/y", occurrence: 1 }] });
      expect(await stage.look("select path, occurrence from layover.pending where is_queued")).toEqual([
        { path: "all/y", occurrence: 2 },
      ]);
    });

    test("counts a loser once that records after it: its slot was given away", async () => {
      const run = await aMap(stage, ["all/race[0]", "all/race[1]", "all/x", "all/y"], { slots: 2 });
      await run.finishBranch(stage.onlooker, "all/race[0]", { token: "all/race[0]" });
      await goOn(run, 2, "second");
      await run.finish(stage.onlooker, { token: "second", position: 1, released: released("all/race[") });
      expect(await mapsOf(run)).toEqual([{ path: "all", slots: 0, counted: 2 }]);
      await run.finishBranch(stage.onlooker, "all/race[1]", { token: "all/race[1]" });
      expect(await mapsOf(run)).toEqual([{ path: "all", slots: 0, counted: 2 }]);
    });

    test("counts a loser no more that waits for its next attempt: the map waits for it no longer", async () => {
      const run = await aMap(stage, ["all/race[0]", "all/race[1]", "all/x"]);
      await run.finishBranch(stage.onlooker, "all/race[1]", { token: "all/race[1]", attempt: failed });
      expect(await mapsOf(run)).toEqual([{ path: "all", slots: null, counted: 2 }]);
      await run.finishBranch(stage.onlooker, "all/race[0]", { token: "all/race[0]" });
      await goOn(run, 2, "second");
      await run.finish(stage.onlooker, { token: "second", position: 1, released: released("all/race[") });
      expect(await mapsOf(run)).toEqual([{ path: "all", slots: null, counted: 1 }]);
      await run.finishBranch(stage.onlooker, "all/x", { token: "all/x" });
      expect(await run.state()).toMatchObject({ isReady: true });
    });

    test("leaves the maps around it alone, and nothing of those in it, of its own run", async () => {
      const aRunWithMaps = async () => {
        const run = await aRunAtWork(stage);
        const inner = { path: "all/race[1]/in", slots: 1, failsFast: false };
        const demands = [
          ...branches(["all/race[0]"], { path: "all", slots: 9, failsFast: false }),
          ...branches(["all/race[1]/in/a", "all/race[1]/in/b"], inner),
          ...branches(["more/a", "more/b"], { path: "more", slots: 1, failsFast: false }),
        ].map((one, index) => ({ ...one, ordinal: index }));
        await run.finish(stage.onlooker, { token: "first", demands });
        return run;
      };
      const [run, other] = [await aRunWithMaps(), await aRunWithMaps()];
      const before = await mapsOf(other);
      await run.claimBranch(stage.onlooker, "all/race[0]", { token: "a" });
      await run.finishBranch(stage.onlooker, "all/race[0]", { token: "a" });
      await goOn(run, 2, "second");
      await run.finish(stage.onlooker, { token: "second", position: 1, released: released("all/race[") });
      expect(await mapsOf(run)).toEqual([
        { path: "all", slots: 9, counted: 0 },
        { path: "more", slots: 0, counted: 2 },
      ]);
      expect(Object.keys(await run.pending()).toSorted()).toEqual(["more/a", "more/b"]);
      expect(await mapsOf(other)).toEqual(before);
    });

    test("that is deferred leaves alone what was recorded before it: nobody has seen that", async () => {
      const run = await aMap(stage, ["all/race[0]", "all/race[1]", "all/x", "all/y"], { slots: 2 });
      await run.finishBranch(stage.onlooker, "all/race[0]", { token: "all/race[0]" });
      await goOn(run, 2, "second");
      const said = await run.finishBranch(stage.onlooker, "all/race[1]", { token: "all/race[1]" });
      const decision = { token: "second", position: 1, released: released("all/race[") };
      expect(await run.finish(stage.onlooker, decision)).toMatchObject({ outcome: "deferred" });
      expect(await run.pending()).toMatchObject({ "all/race[1]": { position: 2, isReleased: false } });
      expect(await mapsOf(run)).toEqual([{ path: "all", slots: 0, counted: 2 }]);
      expect(await run.finishBranch(stage.onlooker, "all/race[1]", { token: "all/race[1]" })).toEqual(said);
      expect(await goOn(run, 3, "third")).toMatchObject({ pending: expect.arrayContaining([expect.anything()]) });
      expect(Object.keys(await run.pending())).toContain("all/race[1]");
    });

    test("that is deferred decides no race that is decided by what it has not seen", async () => {
      const run = await aFanOut(stage, ["race/a", "race/b", "other"]);
      await goOn(run, 2, "second");
      await run.finishBranch(stage.onlooker, "other", { token: "other" });
      const decision = { token: "second", position: 0, released: released("race/"), armed: [soon] };
      expect(await run.finish(stage.onlooker, decision)).toMatchObject({ outcome: "deferred" });
      expect(await run.pending()).toMatchObject({ "race/a": { isReleased: false }, "race/b": { isReleased: false } });
    });
  },
  { perTest: true },
);
