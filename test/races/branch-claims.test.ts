/** A claim leases the very branch that it names, if that is ready; and it waits for the lock of no other. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import {
  aDemand,
  aFanOut,
  aParkedRun,
  aRunAtWork,
  at,
  aWaitFor,
  branches,
  minute,
  noon,
  type Run,
  terms,
} from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "among several branches",
  (database) => {
    const stage = stageOn(database);
    const callOf = async (name: "claim_turns" | "finish_turns", more: object, ...turns: object[]) =>
      (await stage.onlooker.call(name, { ...terms, ...more, turns })).turns;
    const hold = (what: string, run: Run): Promise<Session> => stage.hold(`select from ${what} for update`, [run.id]);

    describe("a claim as a branch", () => {
      test("of what is a wait is superseded, alone and in a set", async () => {
        const run = await aParkedRun(stage, [aDemand("callback", "approval"), aWaitFor("address")]);
        const claims = ["approval", "address"].map((path) => ({ ...run.toClaim({ token: path }), ...at(path) }));
        const superseded = claims.map(() => ({ outcome: "superseded" }));
        for (const claim of claims) expect(await callOf("claim_turns", {}, claim)).toEqual(superseded.slice(1));
        expect(await callOf("claim_turns", {}, ...claims)).toEqual(superseded);
      });

      test("of what is a step between its attempts is superseded, in a set too", async () => {
        const run = await aRunAtWork(stage);
        const attempt = { number: 1, beganAt: noon, endedAt: noon, error: "0null", demandedAfter: 0, retryInMs: 0 };
        await run.finish(stage.onlooker, { token: "first", attempt: { ...attempt, ...at("charge") } });
        const claims = ["charge", "nothing"].map((path) => ({ ...run.toClaim({ token: path }), ...at(path) }));
        const superseded = claims.map(() => ({ outcome: "superseded" }));
        expect(await callOf("claim_turns", {}, ...claims)).toEqual(superseded);
      });

      test("of what is to be tried again later is not ready, in a set too", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        const attempt = { number: 1, beganAt: noon, endedAt: noon, error: "0null", retryInMs: minute };
        for (const path of ["a", "b"]) await run.finishBranch(stage.onlooker, path, { token: path, attempt });
        const claims = ["a", "b"].map((path) => ({ ...run.toClaim({ token: "again", turn: 2 }), ...at(path) }));
        const notReady = claims.map(() => ({ outcome: "not_ready", readyAt: noon + minute }));
        expect(await callOf("claim_turns", {}, ...claims)).toEqual(notReady);
      });

      test("asks for the version of its own run", async () => {
        const own = await aParkedRun(stage, branches(["a", "b"]));
        const other = await aParkedRun(stage, branches(["a", "b"]));
        await stage.onlooker.query("update layover.run set version = 2 where id = $1", [own.id]);
        for (const [versions, run, outcome] of [
          [[1], own, "not_here"],
          [[2], own, "claimed"],
          [[2], other, "not_here"],
          [[1], other, "claimed"],
        ] as const) {
          const claims = ["a", "b"].map((path) => ({ ...run.toClaim({ token: path }), ...at(path) }));
          const answer = claims.map(() => ({ outcome }));
          const here = { versions: { flow: versions } };
          expect(await callOf("claim_turns", here, ...claims.slice(1))).toMatchObject(answer.slice(1));
          expect(await callOf("claim_turns", here, ...claims)).toMatchObject(answer);
        }
      });

      test("that is set back, since too many died over it, leaves the leases of others alone", async () => {
        const run = await aParkedRun(stage, [...branches(["a"]), { ...aDemand("branch", "a"), occurrence: 2 }]);
        const other = await aFanOut(stage, ["a"]);
        for (const occurrence of [1, 2])
          await callOf("claim_turns", {}, { ...run.toClaim({ token: "first" }), path: "a", occurrence });
        await stage.onlooker.query("update layover.pending set beginnings = 6, lost = 3");
        await stage.clock.advance(2 * minute);
        expect(await run.claimBranch(stage.onlooker, "a", { token: "last", alone: true })).toEqual({
          outcome: "not_ready",
          readyAt: null,
        });
        const rows = await stage.look("select run_id, occurrence from layover.pending where token is not null");
        expect(rows).toEqual(
          expect.arrayContaining([
            { run_id: run.id, occurrence: 2 },
            { run_id: other.id, occurrence: 1 },
          ]),
        );
      });

      test("leases one occurrence of its name, in a set too", async () => {
        const demands = [1, 2, 3].map((occurrence) => ({ ...aDemand("branch", "a"), occurrence, ordinal: occurrence }));
        const run = await aParkedRun(stage, demands);
        const claims = [3, 2].map((occurrence) => ({ ...run.toClaim({ token: "first" }), path: "a", occurrence }));
        expect(await callOf("claim_turns", {}, ...claims)).toMatchObject([
          { outcome: "claimed" },
          { outcome: "claimed" },
        ]);
        const rows = await stage.look("select occurrence from layover.pending where token is not null order by 1");
        expect(rows).toEqual([{ occurrence: 2 }, { occurrence: 3 }]);
      });

      test("alone, which may block the run, waits for no lock of another run", async () => {
        const run = await aParkedRun(stage, branches(["a"]));
        await hold("layover.run_state where run_id = $1", await aParkedRun(stage, branches(["a"])));
        await stage.onlooker.query("set statement_timeout = '5s'");
        const claim = { ...run.toClaim({ token: "a", alone: true }), ...at("a") };
        expect(await callOf("claim_turns", {}, claim)).toMatchObject([{ outcome: "claimed", claims: 0 }]);
      });

      test("waits for no lock of another run, nor of a branch that is recorded or not asked for", async () => {
        const again = { ...aDemand("branch", "a"), occurrence: 2, ordinal: 5 };
        const run = await aParkedRun(stage, [...branches(["a", "b", "c", "done"]), again]);
        await run.claimBranch(stage.onlooker, "done", { token: "done" });
        await run.finishBranch(stage.onlooker, "done", { token: "done" });
        const other = await aParkedRun(stage, branches(["a", "b"]));
        await hold("layover.pending where run_id = $1", other);
        await hold("layover.pending where run_id = $1 and (path in ('c', 'done') or occurrence = 2)", run);
        const claims = ["a", "b", "done"].map((path) => ({ ...run.toClaim({ token: path }), ...at(path) }));
        await stage.onlooker.query("set statement_timeout = '5s'");
        expect(await callOf("claim_turns", {}, ...claims)).toMatchObject([
          { outcome: "claimed" },
          { outcome: "claimed" },
          { outcome: "superseded" },
        ]);
      });
    });

    test("the results of some branches wait for no lock of another one", async () => {
      const again = { ...aDemand("branch", "a"), occurrence: 2, ordinal: 5 };
      const run = await aParkedRun(stage, [...branches(["a", "b", "c"]), again]);
      for (const path of ["a", "b"]) await run.claimBranch(stage.onlooker, path, { token: path });
      await hold("layover.pending where run_id = $1 and (path = 'c' or occurrence = 2)", run);
      await stage.onlooker.query("set statement_timeout = '5s'");
      const turns = ["a", "b"].map((path) => run.toFinishBranch(path, { token: path }));
      expect(await callOf("finish_turns", {}, ...turns)).toMatchObject(turns.map(() => ({ outcome: "finished" })));
    });

    test("the results of some branches wait for no lock of another one, though one has failed and is tried again", async () => {
      const run = await aFanOut(stage, ["0", "a", "b", "c"]);
      await hold("layover.pending where run_id = $1 and path = '0'", run);
      await stage.onlooker.query("set statement_timeout = '5s'");
      const attempt = { number: 1, beganAt: noon, endedAt: noon, error: "0null", retryInMs: 0 };
      const turns = ["a", "b", "c"].map((path) =>
        run.toFinishBranch(path, { token: path, ...(path === "c" && { attempt }) }),
      );
      expect(await callOf("finish_turns", {}, ...turns)).toMatchObject(turns.map(() => ({ outcome: "finished" })));
    });
  },
  { perTest: true },
);
