/** The record that says how a run ends and what it owes: it is written once, and while nobody is at work. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aParkedRun, aRecord, aRunAtWork, at, branches, minute, noon, only, type Run, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";
import { anEnd, callOf, endsBy } from "./undoing.ts";

describeSomePostgres(
  "the ending of a run",
  (database) => {
    const stage = stageOn(database);
    const claim = (run: Run, turn: number) => run.claim(stage.onlooker, { turn, token: `turn ${turn}` });
    const undone = [aRecord("step", "[undo]/x")];
    const over = {
      token: "turn 2",
      position: 2,
      next: "failed",
      value: "0{}",
      failedUndos: 0,
      records: undone,
    } as const;

    test("is written by one finish, and the undos follow it until the run is over", async () => {
      const run = await aRunAtWork(stage);
      expect(await endsBy(run)(stage.onlooker)).toMatchObject({ outcome: "finished", turn: 2, status: "parked" });
      expect(await claim(run, 2)).toMatchObject({ outcome: "claimed", position: 2 });
      expect(await run.finish(stage.onlooker, over)).toMatchObject({ outcome: "finished", status: "failed" });
      expect(await run.kinds()).toEqual(["step x", "ending", "step [undo]/x"]);
    });

    test.each([
      ["", {}],
      ["with the claim of the first undo", { claim: { turn: 2, token: "turn 2", have: { epoch: 0, position: 2 } } }],
    ])("is written once when its finish comes twice %s", async (_, more) => {
      const run = await aRunAtWork(stage);
      const send = () => run.finish(stage.onlooker, { ...anEnd(), ...more });
      const first = await send();
      expect(first).toMatchObject({ outcome: "finished", turn: 2 });
      expect(await send()).toMatchObject({ outcome: "finished", turn: 2 });
      expect(await run.kinds()).toEqual(["step x", "ending"]);
      expect(await claim(run, 2)).toMatchObject({ outcome: "claimed", position: 2 });
    });

    test("that was refused, since the cancel came first, is followed by no claim: its process knows a record that was not kept", async () => {
      const run = await aRunAtWork(stage);
      await run.operate(stage.onlooker, "cancel");
      const have = { epoch: 0, position: 2 };
      const answer = await run.finish(stage.onlooker, { ...anEnd(), claim: { turn: 2, token: "turn 2", have } });
      expect(answer).toMatchObject({ outcome: "finished", turn: 2, isReady: true });
      expect(answer).not.toHaveProperty("claim");
      expect(await run.kinds()).toEqual(["step x"]);
    });

    test("is written once when its finish comes again while the first one is under way", async () => {
      const run = await aRunAtWork(stage);
      const answers = await stage.collide({ first: endsBy(run), second: endsBy(run) });
      expect(answers).toMatchObject(Array(2).fill({ outcome: "finished", turn: 2 }));
      expect(await run.kinds()).toEqual(["step x", "ending"]);
    });

    test("gives the place of a race that is over to no other item", async () => {
      const run = await aParkedRun(
        stage,
        branches(["all/race/a", "all/b"], { path: "all", slots: 1, failsFast: false }),
      );
      await stage.look("update layover.run_state set ready_at = 'epoch' where run_id = $1", [run.id]);
      await claim(run, 2);
      const released = [{ prefix: "all/race/", position: 0 }];
      const answer = await run.finish(stage.onlooker, { ...anEnd({ token: "turn 2", position: 0 }), released });
      expect(answer).toMatchObject({ outcome: "finished", turn: 3, branches: null });
      expect(await run.pending()).toEqual({});
    });

    test("is written among finishes of other runs in one call", async () => {
      const runs = [await aRunAtWork(stage), await aRunAtWork(stage), await aRunAtWork(stage)] as const;
      const goesOn = { token: "first", next: "ready" as const, records: [aRecord("step", "x")] };
      const finishes = [runs[0].toFinish(goesOn), runs[1].toFinish(anEnd()), runs[2].toFinish(goesOn)];
      expect(await callOf("finish_turns", ...finishes)(stage.onlooker)).toMatchObject(
        Array(3).fill({ outcome: "finished", turn: 2 }),
      );
      expect(await Promise.all(runs.map((run) => run.kinds()))).toEqual([["step x"], ["step x", "ending"], ["step x"]]);
    });

    test("is refused by code of the release before, which knows no such record, and newer code carries out the undos", async () => {
      const run = await aRunAtWork(stage);
      for (const deployment of ["old", "new"]) {
        const note = { ...terms, deployment, name: deployment, deployedAt: noon };
        await stage.onlooker.query("select layover.note_deployment($1)", [
          JSON.stringify({ ...note, namespace: "default" }),
        ]);
      }
      await endsBy(run)(stage.onlooker);
      const claimBy = async (deployment: string, turn: number) => {
        const turns = [run.toClaim({ turn, token: `turn ${turn}` })];
        return only((await stage.onlooker.call("claim_turns", { ...terms, deployment, turns })).turns);
      };
      const isEnding = expect.arrayContaining(["ending"]);
      expect(await claimBy("old", 2)).toMatchObject({ outcome: "claimed", records: [{}, isEnding] });
      const why = "the history holds ending at position 2, where the code has ended";
      const refusal = { token: "turn 2", position: 2, next: "blocked", value: why, deployment: "old" } as const;
      expect(await run.finish(stage.onlooker, refusal)).toMatchObject({ outcome: "finished", turn: 3 });
      expect(await claimBy("old", 3)).toEqual({ outcome: "not_here" });
      expect(await claimBy("new", 3)).toMatchObject({ outcome: "claimed", position: 2 });
      expect(await run.kinds()).toEqual(["step x", "ending"]);
    });

    describe("while a branch is at work", () => {
      /** Its second turn is under way, and so is its branch `b`. */
      const atWork = async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        await run.finishBranch(stage.onlooker, "a", { token: "a" });
        await claim(run, 2);
        return run;
      };
      const refused = async () => {
        const run = await atWork();
        const answer = { outcome: "finished", turn: 3, status: "parked", isReady: true };
        expect(await endsBy(run, { token: "turn 2", position: 1 })(stage.onlooker)).toMatchObject(answer);
        return run;
      };
      const attempt = { number: 1, beganAt: noon, endedAt: noon, error: "0null", retryInMs: 0 };

      test("is refused, and the other records of its finish are kept, though it comes twice", async () => {
        const run = await refused();
        const again = await endsBy(run, { token: "turn 2", position: 1 })(stage.onlooker);
        expect(again).toMatchObject({ outcome: "finished", turn: 3, status: "parked" });
        expect(await run.kinds()).toEqual(["step a", "step x"]);
        expect(await run.pending()).toMatchObject({ b: { isReleased: true, leasedUntil: noon + minute } });
      });

      test("is refused with the claim that comes along", async () => {
        const run = await atWork();
        const next = { turn: 3, token: "turn 3", have: { epoch: 0, position: 3 } };
        const answer = await run.finish(stage.onlooker, {
          ...anEnd({ token: "turn 2", position: 1 }),
          claim: next,
        });
        expect(answer).toMatchObject({ outcome: "finished", turn: 3 });
        expect(await claim(run, 3)).toEqual({ outcome: "not_ready", readyAt: noon + minute });
        expect(await run.kinds()).toEqual(["step a", "step x"]);
      });

      test("is refused, and the next claim waits for the branch, whose record sends for the run", async () => {
        const run = await refused();
        expect(await claim(run, 3)).toEqual({ outcome: "not_ready", readyAt: noon + minute });
        expect(await run.finishBranch(stage.onlooker, "b", { token: "b" })).toMatchObject({ continues: 3 });
        expect(await claim(run, 3)).toMatchObject({ outcome: "claimed", position: 3, attempted: [] });
        expect(await run.kinds()).toEqual(["step a", "step x", "step b"]);
        const last = { token: "turn 3", position: 3 };
        expect(await endsBy(run, last)(stage.onlooker)).toMatchObject({ outcome: "finished", turn: 4 });
        expect(await run.kinds()).toEqual(["step a", "step x", "step b", "step x", "ending"]);
        expect(await run.pending()).toEqual({});
      });

      test("is refused, and a branch whose attempt failed sends for the run, and is not tried again", async () => {
        const run = await refused();
        expect(await run.finishBranch(stage.onlooker, "b", { token: "b", attempt })).toMatchObject({ continues: 3 });
        expect(await run.claimBranch(stage.onlooker, "b", { token: "b again", turn: 2 })).toEqual({
          outcome: "superseded",
        });
        expect(await claim(run, 3)).toMatchObject({ outcome: "claimed", position: 2, attempted: [at("b")] });
      });

      test("is refused, and a branch whose lease lapsed may have had its effect, and records nothing more", async () => {
        const run = await refused();
        await stage.clock.advance(minute);
        expect(await claim(run, 3)).toMatchObject({ outcome: "claimed", position: 2, attempted: [at("b")] });
        expect(await run.finishBranch(stage.onlooker, "b", { token: "b" })).toEqual({ outcome: "superseded" });
        const [attempted] = await stage.look("select number, error from layover.attempt");
        expect(attempted).toEqual({ number: 1, error: expect.stringContaining("interrupted") });
      });

      test("is refused when the branch renews its lease at the last moment", async () => {
        const run = await refused();
        await stage.clock.advance(minute - 1);
        await run.renew(stage.onlooker, "b", { path: "b" });
        await stage.clock.advance(1);
        expect(await claim(run, 3)).toEqual({ outcome: "not_ready", readyAt: noon + 2 * minute - 1 });
      });

      test("is deferred after the branch's record, whose lock it waits for", async () => {
        const run = await atWork();
        const [recorded, deferred] = await stage.collide({
          first: (session) => run.finishBranch(session, "b", { token: "b" }),
          second: endsBy(run, { token: "turn 2", position: 1 }),
        });
        expect([recorded, deferred]).toMatchObject([
          { outcome: "finished" },
          { outcome: "deferred", turn: 3, isReady: true },
        ]);
        expect(await run.kinds()).toEqual(["step a", "step b"]);
        expect(await claim(run, 3)).toMatchObject({ outcome: "claimed", position: 2 });
      });

      test("is refused before the branch's record, which waits for its lock and sends for the run", async () => {
        const run = await atWork();
        const [refusal, recorded] = await stage.collide({
          first: endsBy(run, { token: "turn 2", position: 1 }),
          second: (session) => run.finishBranch(session, "b", { token: "b" }),
        });
        expect([refusal, recorded]).toMatchObject([{ turn: 3 }, { outcome: "finished", continues: 3 }]);
        expect(await run.kinds()).toEqual(["step a", "step x", "step b"]);
      });
    });

    describe("while nobody has claimed two of its branches", () => {
      /** Its second turn is under way. */
      const unclaimed = async () => {
        const run = await aParkedRun(stage, branches(["a", "b", "c"]));
        await run.claimBranch(stage.onlooker, "a", { token: "a" });
        await run.finishBranch(stage.onlooker, "a", { token: "a" });
        await claim(run, 2);
        return run;
      };
      const claimsOf = (run: Run, paths: readonly string[]) =>
        callOf("claim_turns", ...paths.map((path) => ({ ...run.toClaim({ token: path }), ...at(path) })));
      const ways = [
        ["of one", ["b"]],
        ["of both", ["b", "c"]],
      ] as const;

      test.each(ways)("is refused after the claim %s, whose lock it waits for", async (_, paths) => {
        const run = await unclaimed();
        const [claimed, refusal] = await stage.collide({
          first: claimsOf(run, paths),
          second: endsBy(run, { token: "turn 2", position: 1 }),
        });
        expect(claimed).toMatchObject(paths.map(() => ({ outcome: "claimed" })));
        expect(refusal).toMatchObject({ outcome: "finished", turn: 3, status: "parked", isReady: true });
        expect(await claim(run, 3)).toEqual({ outcome: "not_ready", readyAt: noon + minute });
        for (const path of paths)
          expect(await run.finishBranch(stage.onlooker, path, { token: path })).toMatchObject({ outcome: "finished" });
        expect(await run.kinds()).toEqual(["step a", "step x", ...paths.map((path) => `step ${path}`)]);
      });

      test.each(ways)(
        "is written before the claim %s, which waits for its lock and begins nothing",
        async (_, paths) => {
          const run = await unclaimed();
          const [written, claims] = await stage.collide({
            first: endsBy(run, { token: "turn 2", position: 1 }),
            second: claimsOf(run, paths),
          });
          expect(written).toMatchObject({ outcome: "finished", turn: 3 });
          expect(claims).toEqual(paths.map(() => ({ outcome: "superseded" })));
          expect(await run.kinds()).toEqual(["step a", "step x", "ending"]);
        },
      );
    });
  },
  { perTest: true },
);
