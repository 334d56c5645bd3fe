/** A process that holds a run's history is told only of those rows of what the run waits for that it cannot know. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { locksByPath } from "./lock-order.ts";
import { type Columns, rowsOn } from "./rows.ts";
import { aRun, aRunAtWork, noon, type Run } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "a claim of a run",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "positions are dense from 1, and last_position is the last",
        "what is not over, paused or blocked and needs to be looked at has a due instant",
        "due may be early, never late (by more than two minutes)",
        "a run that has closed, or ends, has nothing to wait for",
      ],
    });
    const { wait } = rowsOn(stage);
    const at = (ms: number) => `layover.now() + interval '${ms} ms'`;
    const claim = async (run: Run, more: object) => {
      await stage.onlooker.query(
        "update layover.run_state set has_pending = true, last_position = 2, handed_position = 0 where run_id = $1",
        [run.id],
      );
      const told = await run.claim(stage.onlooker, { token: "first", ...more });
      return "pending" in told ? told.pending : told.outcome;
    };
    const have = { have: { epoch: 0, position: 2, rowsThrough: 1 } };
    const run: Columns = { child_run_id: "gen_random_uuid()", child_bond: "'cancel'" };
    const gone: Columns = { is_released: "true", token: "gen_random_uuid()", leased_until: at(1) };

    describe("is told of", () => {
      test.each<readonly [what: string, kind: string, more: Columns, isTold: boolean]>([
        ["no sleep that it knows", "sleep", { demanded_after: "1", until: at(5) }, false],
        ["a sleep that came later", "sleep", { demanded_after: "2", until: at(5) }, true],
        ["no branch that it knows", "branch", { demanded_after: "1" }, false],
        ["a branch that was tried", "branch", { demanded_after: "1", attempts: "1" }, true],
        ["a step between its attempts", "retry", { demanded_after: "0", attempts: "1" }, true],
        ["a run that was started after the record that it knows last", "child", { ...run, demanded_after: "1" }, true],
        ["no run that was started before that", "child", { ...run, demanded_after: "0" }, false],
        ["a run that was started later", "child", { ...run, demanded_after: "2" }, true],
        ["no run that it has left", "child", { ...run, demanded_after: "2", is_released: "true" }, false],
        ["a branch that was released, and has a lease", "branch", { demanded_after: "0", ...gone }, true],
      ])("%s", async (_, kind, more, isTold) => {
        const [one, other] = [await aRun(stage), await aRun(stage)];
        await wait(one, kind, more);
        await wait(other, "sleep", { demanded_after: "2", path: "'other'", until: at(5) });
        const told = await claim(one, have);
        expect(told).toEqual(isTold ? [expect.objectContaining({ kind, path: "it", occurrence: 1 })] : null);
      });
    });

    test("is told all of each row, in order, where it holds nothing", async () => {
      const one = await aRun(stage);
      await wait(one, "sleep", { path: "'b'", occurrence: "3", ordinal: "1", demanded_after: "0", until: at(5) });
      await wait(one, "branch", { path: "'a'", ordinal: "2", demanded_after: "1", attempts: "4", position: "2" });
      await wait(one, "branch", { path: "'c'", ordinal: "3", demanded_after: "1", ...gone });
      const row = { occurrence: 1, demandedAfter: 1, until: null, attempts: 0, position: null, isReleased: false };
      expect(await claim(one, {})).toEqual([
        { ...row, kind: "sleep", path: "b", occurrence: 3, demandedAfter: 0, until: noon + 5 },
        { ...row, kind: "branch", path: "a", attempts: 4, position: 2 },
        { ...row, kind: "branch", path: "c", isReleased: true },
      ]);
    });

    test("is told of none where it holds all, and is of a release that does not say which", async () => {
      const one = await aRun(stage);
      await wait(one, "sleep", { demanded_after: "2", until: at(5) });
      expect(await claim(one, { have: { epoch: 0, position: 2 } })).toBeNull();
    });

    test.each([
      ["drops what was released and nobody holds", {}, []],
      ["drops what was released and held until now", { leased_until: "layover.now()" }, []],
      ["leaves what somebody holds", { leased_until: at(1) }, ["it"]],
    ])("%s", async (_, lease, left) => {
      const [one, other] = [await aRunAtWork(stage), await aRunAtWork(stage)];
      const token = "leased_until" in lease ? { token: "gen_random_uuid()", ...lease } : {};
      for (const each of [one, other]) await wait(each, "branch", { is_released: "true", ...token });
      await one.finish(stage.onlooker, { token: "first", next: "ready" });
      await claim(one, { turn: 2 });
      expect(Object.keys(await one.pending())).toEqual(left);
      expect(Object.keys(await other.pending())).toEqual(["it"]);
    });

    test("locks what it drops by the paths", async () => {
      const release = async ({ id }: Run) => {
        await stage.onlooker.query("update layover.pending set is_released = true where run_id = $1", [id]);
        await stage.onlooker.query(
          "update layover.run_state set ready_at = 'epoch', has_pending = true where run_id = $1",
          [id],
        );
      };
      const take = (one: Run, by: Session) => one.claim(by, { token: "next", turn: 2 });
      expect(await locksByPath(stage, take, release)).toBe(true);
    });
  },
  { perTest: true },
);
