import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aParkedRun, aRun, at, branches, minute, noon, only, type Run, terms, tokenOf } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "the claim of a turn that was dispatched in vain",
  (database) => {
    const stage = stageOn(database, { breaks: ["due may be early, never late (by more than two minutes)"] });

    /** It was dispatched so often, and is due in so many minutes. */
    async function inVain(run: Run, times: number, minutes: number): Promise<number> {
      const dueAt = noon + minutes * minute;
      await stage.onlooker.query(
        "update layover.run_state set dispatches = $1, due_at = layover.from_ms($2) where run_id = $3",
        [times, dueAt, run.id],
      );
      await stage.onlooker.query("update layover.pending set dispatches = $1 where run_id = $2", [times, run.id]);
      return dueAt;
    }
    const claim = async (run: Run, path?: string, more: object = { movesDue: true }) => {
      const turn = run.toClaim({ token: path ?? "run" });
      const turns = [{ ...turn, ...(path !== undefined && at(path)) }];
      return only((await stage.onlooker.call("claim_turns", { ...terms, ...more, turns })).turns);
    };

    describe.each([
      ["a run", () => aRun(stage), undefined],
      ["a branch", () => aParkedRun(stage, branches(["a", "b"])), "a"],
    ] as const)("%s", (_, aTurn, path) => {
      test("is refused when its run is due more than two minutes after the lease would end", async () => {
        const run = await aTurn();
        const dueAt = await inVain(run, 3, 4);
        expect(await claim(run, path)).toEqual({ outcome: "due_late", dueAt });
        expect(await run.state()).toMatchObject({ status: "parked", dispatches: 3, dueAt });
      });

      test.each([
        ["its run is due soon enough", 3, 3],
        ["it was dispatched in vain twice only, so its run is due soon", 2, 4],
      ])("succeeds when %s", async (_, times, minutes) => {
        const run = await aTurn();
        await inVain(run, times, minutes);
        expect(await claim(run, path)).toMatchObject({ outcome: "claimed" });
      });

      test("succeeds for code of an earlier release, which does not know better", async () => {
        const run = await aTurn();
        await inVain(run, 3, 4);
        expect(await claim(run, path, {})).toMatchObject({ outcome: "claimed" });
      });
    });

    test("is refused in a set, too, and only for those that it concerns", async () => {
      const run = await aParkedRun(stage, branches(["a", "b", "c"]));
      await inVain(run, 3, 4);
      await stage.onlooker.query("update layover.pending set dispatches = 0 where path = 'b'");
      const turns = ["a", "b", "c"].map((path) => ({ ...run.toClaim({ token: path, turn: 1 }), ...at(path) }));
      const answer = await stage.onlooker.call("claim_turns", { ...terms, movesDue: true, turns });
      expect(answer.turns.map(({ outcome }) => outcome)).toEqual(["due_late", "claimed", "due_late"]);
    });

    test("is refused for each run of a set that it concerns", async () => {
      const runs = [await aRun(stage), await aRun(stage), await aRun(stage)];
      for (const run of runs.slice(1)) await inVain(run, 3, 4);
      const turns = runs.map((run) => run.toClaim({ token: run.id, turn: 1 }));
      const answer = await stage.onlooker.call("claim_turns", { ...terms, movesDue: true, turns });
      expect(answer.turns.map(({ outcome }) => outcome)).toEqual(["claimed", "due_late", "due_late"]);
    });

    test("of a lease that stands is answered again, since it has succeeded", async () => {
      const run = await aRun(stage);
      await run.claim(stage.onlooker, { token: "run" });
      await inVain(run, 3, 4);
      expect(await claim(run)).toMatchObject({ outcome: "claimed" });
      expect(await run.state()).toMatchObject({ token: tokenOf("run") });
    });
  },
  { perTest: true },
);
