/** A cancel, and a run that continues as new, has decided a race, cleans up, is blocked, or fails an attempt: each in both orders. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { record as finish, retry } from "./branching.ts";
import {
  aFanOut,
  aParkedRun,
  aRecord,
  aRunAtWork,
  at,
  aWaitFor,
  branches,
  minute,
  noon,
  type Run,
  shielded,
  soon,
  terms,
} from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "a cancel",
  (database) => {
    const stage = stageOn(database);
    const cancelBy = (run: Run) => (session: Session) => run.operate(session, "cancel");
    const claim = (run: Run, turn: number) => run.claim(stage.onlooker, { turn, token: `turn ${turn}` });
    const busy = (run: Run) => ({ outcome: "cancelling", runId: run.id });
    const free = (run: Run, turn: number) => ({ ...busy(run), turn });
    const written = { outcome: "claimed", records: [expect.arrayContaining(["closing"])] };

    describe("and a finish that continues as new", () => {
      const goOn = (run: Run) => (session: Session) =>
        run.finish(session, { token: "first", next: "ready", records: [aRecord("step", "a")], continues: "0{}" });
      const claimOf = async (run: Run) => {
        const turns = [run.toClaim({ turn: 2, token: "turn 2" })];
        return (await stage.onlooker.call("claim_turns", { ...terms, knowsEpochs: true, turns })).turns;
      };
      const epochs = (run: Run) =>
        stage.look("select epoch, kind from layover.record where run_id = $1 order by epoch, position", [run.id]);

      test("that it waited for: the run closes in its next epoch", async () => {
        const run = await aRunAtWork(stage);
        const [continued, told] = await stage.collide({ first: goOn(run), second: cancelBy(run) });
        expect([continued, told]).toMatchObject([{ outcome: "finished", turn: 2 }, free(run, 2)]);
        expect(await claimOf(run)).toMatchObject([{ ...written, position: 1 }]);
        expect(await epochs(run)).toEqual([
          { epoch: 0, kind: "step" },
          { epoch: 1, kind: "closing" },
        ]);
      });

      test("that waits for it: the run closes in the epoch that it is in", async () => {
        const run = await aRunAtWork(stage);
        const [told, finished] = await stage.collide({ first: cancelBy(run), second: goOn(run) });
        expect([told, finished]).toMatchObject([busy(run), { outcome: "finished", turn: 2, isReady: true }]);
        expect(await claimOf(run)).toMatchObject([{ outcome: "claimed", position: 2 }]);
        expect(await epochs(run)).toEqual([
          { epoch: 0, kind: "step" },
          { epoch: 0, kind: "closing" },
        ]);
      });
    });

    describe("and the result of a branch that lost its race", () => {
      const [winner, loser] = ["race/a", "race/b"] as const;
      /** Waits for a signal in its third turn. The loser of its race is at work. */
      async function aDecidedRace() {
        const run = await aFanOut(stage, [winner, loser]);
        await finish(run, winner)(stage.onlooker);
        await claim(run, 2);
        await run.finish(stage.onlooker, {
          ...{ token: "turn 2", position: 1, released: [{ prefix: "race/", position: 1 }] },
          demands: [aWaitFor("address", { demandedAfter: 1 })],
        });
        return run;
      }

      test("that it waited for: the result is kept, and the run is free", async () => {
        const run = await aDecidedRace();
        const [recorded, told] = await stage.collide({ first: finish(run, loser), second: cancelBy(run) });
        expect([recorded, told]).toMatchObject([{ outcome: "finished" }, free(run, 3)]);
        expect(await claim(run, 3)).toMatchObject({ outcome: "claimed", position: 3 });
        expect(await run.kinds()).toEqual(["step race/a", "step race/b", "closing"]);
      });

      test("that waits for it: the result is kept, and sends for the run", async () => {
        const run = await aDecidedRace();
        const [told, recorded] = await stage.collide({ first: cancelBy(run), second: finish(run, loser) });
        expect(told).toEqual(busy(run));
        expect(recorded).toMatchObject({ outcome: "finished", continues: 3 });
        expect(await claim(run, 3)).toMatchObject({ outcome: "claimed", position: 3 });
        expect(await run.kinds()).toEqual(["step race/a", "step race/b", "closing"]);
      });
    });

    describe("and a cleanup", () => {
      const aRunThatCleansUp = () => aParkedRun(stage, shielded(branches(["k/a"])));
      const begin = (run: Run) => (session: Session) => run.claimBranch(session, "k/a", { token: "k/a" });

      test("whose claim it waited for: it waits for no lease, and the cleanup is recorded after it", async () => {
        const run = await aRunThatCleansUp();
        const [begun, told] = await stage.collide({ first: begin(run), second: cancelBy(run) });
        expect([begun, told]).toMatchObject([{ outcome: "claimed" }, free(run, 2)]);
        expect(await claim(run, 2)).toMatchObject({ ...written, position: 1 });
        expect(await finish(run, "k/a")(stage.onlooker)).toMatchObject({ outcome: "finished" });
        expect(await run.kinds()).toEqual(["closing", "step k/a"]);
      });

      test("whose claim waits for it: the cleanup begins all the same", async () => {
        const run = await aRunThatCleansUp();
        const [told, begun] = await stage.collide({ first: cancelBy(run), second: begin(run) });
        expect([told, begun]).toMatchObject([free(run, 2), { outcome: "claimed" }]);
        expect(await claim(run, 2)).toMatchObject({ ...written, position: 1 });
      });

      test("whose result it waited for: the result is kept ahead of it", async () => {
        const run = await aRunThatCleansUp();
        await begin(run)(stage.onlooker);
        const [recorded, told] = await stage.collide({ first: finish(run, "k/a"), second: cancelBy(run) });
        expect([recorded, told]).toMatchObject([{ outcome: "finished", continues: 2 }, free(run, 2)]);
        await claim(run, 2);
        expect(await run.kinds()).toEqual(["step k/a", "closing"]);
      });

      test("whose result waits for it: the result is kept, and sends for the run", async () => {
        const run = await aRunThatCleansUp();
        await begin(run)(stage.onlooker);
        const [told, recorded] = await stage.collide({ first: cancelBy(run), second: finish(run, "k/a") });
        expect([told, recorded]).toMatchObject([free(run, 2), { outcome: "finished", continues: 2 }]);
        await claim(run, 2);
        expect(await run.kinds()).toEqual(["step k/a", "closing"]);
      });
    });

    describe("and a finish that blocks the run", () => {
      const block = (run: Run) => (session: Session) =>
        run.finish(session, { token: "first", next: "blocked", value: "the code does not fit" });

      test("that it waited for: the run is blocked no more, and is free", async () => {
        const run = await aRunAtWork(stage);
        const [blocked, told] = await stage.collide({ first: block(run), second: cancelBy(run) });
        expect([blocked, told]).toMatchObject([{ outcome: "finished", turn: 2 }, free(run, 2)]);
        expect(await run.state()).toMatchObject({ blocked: null, isReady: true, dueAt: soon });
        expect(await claim(run, 2)).toMatchObject({ ...written, position: 1 });
      });

      test("that waits for it: the run is blocked until other code comes, and that is told of the cancel", async () => {
        const run = await aRunAtWork(stage);
        const [told, blocked] = await stage.collide({ first: cancelBy(run), second: block(run) });
        expect([told, blocked]).toMatchObject([busy(run), { outcome: "finished", turn: 2 }]);
        expect(await run.state()).toMatchObject({ blocked: "the code does not fit", dueAt: null });
        expect(await claim(run, 2)).toMatchObject({ ...written, position: 1 });
      });

      test("that was held up too often, and that it waited for: the run is blocked no more", async () => {
        const run = await aRunAtWork(stage);
        await stage.onlooker.query(
          `insert into layover.setback (run_id, path, occurrence, turn, reason, tries, since, until)
             values ($1, '', 1, 1, 'slow', 4, layover.now(), layover.now())`,
          [run.id],
        );
        const holdUp = (session: Session) => run.finish(session, { token: "first", setback: "slow" });
        const [heldUp, told] = await stage.collide({ first: holdUp, second: cancelBy(run) });
        expect([heldUp, told]).toMatchObject([{ isBlocked: true }, free(run, 2)]);
        expect(await run.state()).toMatchObject({ blocked: null, isReady: true, dueAt: soon });
        expect(await claim(run, 2)).toMatchObject({ ...written, position: 1 });
      });
    });

    describe("and a finish that holds a branch up", () => {
      const holdUp = (run: Run) => (session: Session) =>
        run.finishBranch(session, "b", { token: "b", setback: "slow" });

      test("that it waited for: the run is free, and the branch is not tried again", async () => {
        const run = await aFanOut(stage, ["b"]);
        const [heldUp, told] = await stage.collide({ first: holdUp(run), second: cancelBy(run) });
        expect([heldUp, told]).toMatchObject([{ outcome: "finished", isBlocked: false }, free(run, 2)]);
        await stage.clock.advance(minute);
        const again = await run.claimBranch(stage.onlooker, "b", { token: "again", turn: 2 });
        expect(again).toEqual({ outcome: "superseded" });
        expect(await claim(run, 2)).toMatchObject({ ...written, position: 1, pending: null });
      });

      test("that waits for it: the run is looked at within a minute, and the branch is not tried again", async () => {
        const run = await aFanOut(stage, ["b"]);
        const [told, heldUp] = await stage.collide({ first: cancelBy(run), second: holdUp(run) });
        expect([told, heldUp]).toMatchObject([busy(run), { outcome: "finished", isBlocked: false }]);
        expect(await run.state()).toMatchObject({ isReady: true, dueAt: soon });
        await stage.clock.advance(minute);
        const again = await run.claimBranch(stage.onlooker, "b", { token: "again", turn: 2 });
        expect(again).toEqual({ outcome: "superseded" });
        expect(await claim(run, 2)).toMatchObject({ ...written, position: 1, pending: null });
      });
    });

    describe("and an attempt that failed", () => {
      const attempt = { number: 1, beganAt: noon, endedAt: noon, error: "0null", retryInMs: 10 * minute };
      const fail = (run: Run) => (session: Session) =>
        run.finish(session, { token: "first", attempt: { ...attempt, ...at("b"), demandedAfter: 0 } });
      const attempts = () => stage.look("select path, number from layover.attempt");

      test("of the run's turn, that it waited for: the run is free, and the step is not tried again", async () => {
        const run = await aRunAtWork(stage);
        const [failed, told] = await stage.collide({ first: fail(run), second: cancelBy(run) });
        expect([failed, told]).toMatchObject([{ outcome: "finished", isReady: false }, free(run, 2)]);
        expect(await claim(run, 2)).toMatchObject({ ...written, pending: null });
        expect([await run.pending(), await attempts()]).toEqual([{}, [{ path: "b", number: 1 }]]);
      });

      test("of the run's turn, that waits for it: the run is free, and the step is not tried again", async () => {
        const run = await aRunAtWork(stage);
        const [told, failed] = await stage.collide({ first: cancelBy(run), second: fail(run) });
        expect([told, failed]).toMatchObject([busy(run), { outcome: "finished", turn: 2, isReady: true }]);
        expect(await claim(run, 2)).toMatchObject({ ...written, pending: null });
        expect([await run.pending(), await attempts()]).toEqual([{}, [{ path: "b", number: 1 }]]);
      });

      test("of a branch, that it waited for: the run is free, and the branch is not tried again", async () => {
        const run = await aFanOut(stage, ["b"]);
        const [failed, told] = await stage.collide({ first: retry(run, "b", 0), second: cancelBy(run) });
        expect([failed, told]).toMatchObject([{ outcome: "finished" }, free(run, 2)]);
        const again = await run.claimBranch(stage.onlooker, "b", { token: "again", turn: 2 });
        expect(again).toEqual({ outcome: "superseded" });
        expect(await claim(run, 2)).toMatchObject(written);
        expect([await run.pending(), await attempts()]).toEqual([{}, [{ path: "b", number: 1 }]]);
      });

      test("of a branch, that waits for it: it sends for the run, and the branch is not tried again", async () => {
        const run = await aFanOut(stage, ["b"]);
        const [told, failed] = await stage.collide({ first: cancelBy(run), second: retry(run, "b", 0) });
        expect([told, failed]).toMatchObject([busy(run), { outcome: "finished", continues: 2 }]);
        const again = await run.claimBranch(stage.onlooker, "b", { token: "again", turn: 2 });
        expect(again).toEqual({ outcome: "superseded" });
        expect(await claim(run, 2)).toMatchObject(written);
        expect([await run.pending(), await attempts()]).toEqual([{}, [{ path: "b", number: 1 }]]);
      });
    });
  },
  { perTest: true },
);
