/** One call for turns of several kinds: where a part of it is done again, what was said before counts no longer. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aParkedRun, aRecord, aRun, aRunAtWork, at, branches, noon, terms, tokenOf } from "./runs.ts";
import { stageOn } from "./stage.ts";

/** Ids of runs, in the order in which the runs are locked. */
const ids = {
  first: "00000000-0000-7000-8000-000000000001",
  second: "00000000-0000-7000-8000-000000000002",
  third: "00000000-0000-7000-8000-000000000003",
};

describeSomePostgres(
  "in a call of several kinds",
  (database) => {
    const stage = stageOn(database);
    const paths = ["a", "b"];

    test("branches are leased that were claimed ahead of runs which had to be claimed one by one", async () => {
      const run = await aParkedRun(stage, branches(paths), { runId: ids.first });
      const [here, elsewhere] = [await aRun(stage, { runId: ids.second }), await aRun(stage, { runId: ids.third })];
      await stage.onlooker.query("update layover.run set version = 2 where id = $1", [elsewhere.id]);
      const turns = [
        ...paths.map((path) => ({ ...run.toClaim({ token: path }), ...at(path) })),
        ...[here, elsewhere].map((one) => one.toClaim({ token: "first" })),
      ];
      const { turns: answers } = await stage.onlooker.call("claim_turns", { ...terms, turns });
      expect(answers.map(({ outcome }) => outcome)).toEqual(["claimed", "claimed", "claimed", "not_here"]);
      expect(await run.pending()).toMatchObject({ a: { token: tokenOf("a") }, b: { token: tokenOf("b") } });
    });

    test("branches are recorded whose results came ahead of runs which had to be finished one by one", async () => {
      const run = await aFanOut(stage, paths, { runId: ids.first });
      const others = [await aRunAtWork(stage, { runId: ids.second }), await aRunAtWork(stage, { runId: ids.third })];
      const bad = [{ ...aRecord("step", "bad"), attempts: 40_000 }];
      const turns = [
        ...paths.map((path) => run.toFinishBranch(path, { token: path })),
        ...others.map((other, index) =>
          other.toFinish({ token: "first", next: "ready", records: index === 0 ? [aRecord("step", "good")] : bad }),
        ),
      ];
      const { turns: answers } = await stage.onlooker.call("finish_turns", { ...terms, turns });
      expect(answers.map(({ outcome }) => outcome)).toEqual(["finished", "finished", "finished", "raised"]);
      expect((await run.history()).toSorted()).toEqual(paths);
      expect(await Promise.all(others.map((other) => other.history()))).toEqual([["good"], []]);
    });

    test("a branch that is recorded is never taken for its run, though the run is at a turn of the same number", async () => {
      const run = await aFanOut(stage, ["a"], { runId: ids.first });
      const retry = { beganAt: noon, endedAt: noon, error: "0null", retryInMs: 0 };
      await run.finishBranch(stage.onlooker, "a", { token: "a", attempt: { ...retry, number: 1 } });
      await run.claimBranch(stage.onlooker, "a", { token: "a 2", turn: 2 });
      await run.finishBranch(stage.onlooker, "a", { token: "a 2", turn: 2, attempt: { ...retry, number: 2 } });
      await run.claimBranch(stage.onlooker, "a", { token: "a 3", turn: 3 });
      await run.finishBranch(stage.onlooker, "a", { token: "a 3", turn: 3 });
      await run.claim(stage.onlooker, { token: "second", turn: 2 });
      await run.finish(stage.onlooker, { token: "second", position: 1, next: "ready" });
      const other = await aRun(stage, { runId: ids.second });
      const late = { ...run.toClaim({ token: "late", turn: 3 }), ...at("a") };
      const turns = [late, other.toClaim({ token: "first" })];
      const { turns: answers } = await stage.onlooker.call("claim_turns", { ...terms, turns });
      expect(answers.map(({ outcome }) => outcome)).toEqual(["superseded", "claimed"]);
      expect(await run.state()).toMatchObject({ turn: 3, token: null, isReady: true });
    });
  },
  { perTest: true },
);
