import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aDemand, aFanOut, aMap, aRecord, aRunAtWork, aWaitFor, branches, minute, noon, type Run } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "the finish of a run's turn",
  (database) => {
    const stage = stageOn(database);

    describe("that saw fewer records than there are", () => {
      /** Branch "a" is recorded, and the continuation over it is under way; branch "b" is not done yet. */
      const aContinuation = async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        await run.finishBranch(stage.onlooker, "a", { token: "a" });
        await run.claim(stage.onlooker, { token: "second", turn: 2 });
        return run;
      };
      const recordB = (run: Run) => (session: Session) => run.finishBranch(session, "b", { token: "b" });
      /** Demands "c" from what it saw, and "d" from a record of its own. */
      const goOn = (run: Run) => (session: Session) =>
        run.finish(session, {
          token: "second",
          position: 1,
          records: [aRecord("sleep", "nap")],
          demands: [
            aDemand("branch", "c", { demandedAfter: 1, ordinal: 3 }),
            aDemand("branch", "d", { demandedAfter: 2, ordinal: 4 }),
          ],
        });

      test("is deferred when it waits for the lock of the branch's finish: what it demanded before is kept", async () => {
        const run = await aContinuation();
        const [recorded, deferred] = await stage.collide({ first: recordB(run), second: goOn(run) });
        expect(recorded).toMatchObject({ outcome: "finished", continues: null });
        expect(deferred).toMatchObject({
          outcome: "deferred",
          turn: 3,
          isReady: true,
          branches: [{ path: "c", occurrence: 1, turn: 1 }],
        });
        expect(await run.history()).toEqual(["a", "b"]);
        expect(Object.keys(await run.pending()).sort()).toEqual(["b", "c"]);
        expect(await run.state()).toMatchObject({ status: "parked", isReady: true, lastPosition: 2 });
        expect(await run.claim(stage.onlooker, { token: "third", turn: 3 })).toMatchObject({
          position: 2,
          records: [
            ["step", "a"],
            ["step", "b"],
          ].map((start) => expect.arrayContaining(start)),
        });
      });

      test("is whole when the branch's finish rolls back, and that one comes again", async () => {
        const run = await aContinuation();
        const [, whole] = await stage.collide({ first: recordB(run), second: goOn(run), ends: "rollback" });
        expect(whole).toMatchObject({ outcome: "finished", isReady: false });
        expect(await run.history()).toEqual(["a", "nap"]);
        expect(await recordB(run)(stage.onlooker)).toMatchObject({ outcome: "finished", continues: 3 });
        expect(await run.history()).toEqual(["a", "nap", "b"]);
      });

      test("is whole when the branch's finish waits for its lock; that one makes the run ready again", async () => {
        const run = await aContinuation();
        const [whole, recorded] = await stage.collide({ first: goOn(run), second: recordB(run) });
        expect(whole).toMatchObject({ outcome: "finished", isReady: false });
        expect(recorded).toMatchObject({ outcome: "finished", continues: 3 });
        expect(await run.history()).toEqual(["a", "nap", "b"]);
        expect(await run.state()).toMatchObject({ isReady: true, lastPosition: 3 });
        expect(Object.keys(await run.pending()).sort()).toEqual(["b", "c", "d"]);
      });

      test("is deferred after a whole one that rolled back while the branch's finish waited", async () => {
        const run = await aContinuation();
        const [, recorded] = await stage.collide({ first: goOn(run), second: recordB(run), ends: "rollback" });
        expect(recorded).toMatchObject({ outcome: "finished", continues: null });
        expect(await goOn(run)(stage.onlooker)).toMatchObject({ outcome: "deferred", isReady: true });
        expect(await run.history()).toEqual(["a", "b"]);
      });

      test.each(["completed", "failed", "blocked"] as const)("does not make the run %s", async (next) => {
        const run = await aContinuation();
        const end = (session: Session) => run.finish(session, { token: "second", position: 1, next, value: "0null" });
        const [, deferred] = await stage.collide({ first: recordB(run), second: end });
        expect(deferred).toMatchObject({ outcome: "deferred", isReady: true });
        expect(await run.state()).toMatchObject({ status: "parked", blocked: null, isReady: true });
      });
    });

    describe("in a run that was blocked, is tried again, and has no instant at which it is ready", () => {
      const aRunTriedAgain = async (run: Run) => {
        await run.finishBranch(stage.onlooker, "b", { token: "b", blocked: "why" });
        expect(await run.claim(stage.onlooker, { token: "second", turn: 2 })).toMatchObject({ outcome: "claimed" });
        return run;
      };
      const record = (run: Run) => (session: Session) => run.finishBranch(session, "a", { token: "a" });
      const park = (run: Run) => (session: Session) => run.finish(session, { token: "second" });

      test("leaves it ready when it is deferred by a branch that continues nothing", async () => {
        const run = await aRunTriedAgain(await aMap(stage, ["a", "b"]));
        const [recorded, deferred] = await stage.collide({ first: record(run), second: park(run) });
        expect(recorded).toMatchObject({ outcome: "finished", continues: null });
        expect(deferred).toMatchObject({ outcome: "deferred", isReady: true });
        expect(await run.state()).toMatchObject({ status: "parked", isReady: true });
      });

      test("is the one that continues it: no branch dispatches a turn that is under way", async () => {
        const run = await aRunTriedAgain(await aFanOut(stage, ["a", "b"]));
        const [recorded, deferred] = await stage.collide({ first: record(run), second: park(run) });
        expect(recorded).toMatchObject({ outcome: "finished", continues: null });
        expect(deferred).toMatchObject({ outcome: "deferred", isReady: true });
      });
    });

    describe("sent again", () => {
      const finishes = {
        "goes on": { next: "ready", records: [aRecord("step", "charge")] },
        parks: { next: "parked", demands: [...branches(["a", "b"]), aWaitFor("address")] },
        completes: { next: "completed", value: "0null" },
        blocks: { next: "blocked", value: "why" },
      } as const;
      const kinds = Object.entries(finishes);

      test.each(kinds)(
        "while the first is executed, is answered the same and done once: one that %s",
        async (_, what) => {
          const run = await aRunAtWork(stage);
          const finish = (session: Session) => run.finish(session, { token: "first", ...what });
          const [one, other] = await stage.collide({ first: finish, second: finish });
          expect(one).toMatchObject({ outcome: "finished", turn: 2 });
          expect(other).toEqual(one);
          expect(await run.state()).toMatchObject({ turn: 2 });
        },
      );

      test.each(kinds)("while the first is executed and rolls back, is done: one that %s", async (_, what) => {
        const run = await aRunAtWork(stage);
        const finish = (session: Session) => run.finish(session, { token: "first", ...what });
        const [one, other] = await stage.collide({ first: finish, second: finish, ends: "rollback" });
        expect(other).toEqual(one);
        expect(await run.state()).toMatchObject({ turn: 2 });
      });

      test("after the next claim, is answered the same", async () => {
        const run = await aRunAtWork(stage);
        const finish = () => run.finish(stage.onlooker, { token: "first", ...finishes["goes on"] });
        const answer = await finish();
        await run.claim(stage.onlooker, { token: "second", turn: 2 });
        expect(await finish()).toEqual(answer);
        expect(await run.state()).toMatchObject({ status: "running", turn: 2, lastPosition: 1 });
      });

      test("after the next claim of a run that it deferred, is answered the same", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        await run.finishBranch(stage.onlooker, "a", { token: "a" });
        await run.claim(stage.onlooker, { token: "second", turn: 2 });
        await run.finishBranch(stage.onlooker, "b", { token: "b" });
        const demands = [aDemand("branch", "c", { demandedAfter: 1 })];
        const finish = (session: Session) => run.finish(session, { token: "second", position: 1, demands });
        const [one, other] = await stage.collide({ first: finish, second: finish });
        expect(one).toMatchObject({ outcome: "deferred", branches: [{ path: "c" }] });
        expect(other).toEqual(one);
        await run.claim(stage.onlooker, { token: "third", turn: 3 });
        expect(await finish(stage.onlooker)).toEqual(one);
      });

      test("after the next finish, is superseded", async () => {
        const run = await aRunAtWork(stage);
        const goOn = finishes["goes on"];
        await run.finish(stage.onlooker, { token: "first", ...goOn });
        await run.claim(stage.onlooker, { token: "second", turn: 2 });
        const next = (session: Session) => run.finish(session, { token: "second", position: 1, next: "ready" });
        await next(stage.onlooker);
        expect(await run.finish(stage.onlooker, { token: "first", ...goOn })).toEqual({ outcome: "superseded" });
        expect(await run.state()).toMatchObject({ turn: 3, lastPosition: 1 });
      });

      test("while the first is executed, is answered the same claim where it asks for the next turn", async () => {
        const run = await aRunAtWork(stage);
        const claim = { token: "second", turn: 2, have: { epoch: 0, position: 1 } };
        const finish = (session: Session) => run.finish(session, { token: "first", ...finishes["goes on"], claim });
        const [one, other] = await stage.collide({ first: finish, second: finish });
        expect(one).toMatchObject({ outcome: "finished", claim: { outcome: "claimed", turn: 2, position: 1 } });
        expect(other).toMatchObject(one);
      });
    });

    describe("that simply goes on, and claims its next turn along", () => {
      const goOn =
        (run: Run, position = 0) =>
        (session: Session) =>
          run.finish(session, {
            token: position === 0 ? "first" : "second",
            position,
            next: "ready",
            records: [aRecord("step", "charge")],
            claim: { token: "next", turn: position === 0 ? 2 : 3, have: { epoch: 0, position: position + 1 } },
          });

      test("is offered the signal whose lock it waited for", async () => {
        const run = await aRunAtWork(stage);
        const signal = (session: Session) => run.signal(session, "address");
        const [, finished] = await stage.collide({ first: signal, second: goOn(run) });
        expect(finished).toMatchObject({ claim: { outcome: "claimed", turn: 2, signals: [{ name: "address" }] } });
      });

      test("is not claimed further when it waited for a pause", async () => {
        const run = await aRunAtWork(stage);
        const pause = (session: Session) =>
          session.query("update layover.run_state set paused_at = layover.now(), due_at = null");
        const [, finished] = await stage.collide({ first: pause, second: goOn(run) });
        expect(finished).toMatchObject({ outcome: "finished" });
        expect(await run.state()).toMatchObject({ status: "parked", turn: 2, lastPosition: 1, dueAt: null });
      });

      test("does not hide its next turn from the finish of a branch that waited for its lock", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        await run.finishBranch(stage.onlooker, "a", { token: "a" });
        await run.claim(stage.onlooker, { token: "second", turn: 2 });
        const record = (session: Session) => run.finishBranch(session, "b", { token: "b" });
        const [finished, recorded] = await stage.collide({ first: goOn(run, 1), second: record });
        expect(finished).toMatchObject({ outcome: "finished", claim: { outcome: "claimed", turn: 3, position: 2 } });
        expect(recorded).toMatchObject({ outcome: "finished", continues: null });
        expect(Object.keys(await run.pending())).toEqual(["b"]);
        const park = { token: "next", position: 2 };
        expect(await run.finish(stage.onlooker, park)).toMatchObject({ outcome: "deferred", isReady: true });
      });

      test("is deferred, and claims nothing, when it waited for the finish of a branch", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        await run.finishBranch(stage.onlooker, "a", { token: "a" });
        await run.claim(stage.onlooker, { token: "second", turn: 2 });
        const record = (session: Session) => run.finishBranch(session, "b", { token: "b" });
        const [, finished] = await stage.collide({ first: record, second: goOn(run, 1) });
        expect(finished).toMatchObject({ outcome: "deferred", isReady: true });
        expect(finished).not.toHaveProperty("claim");
        expect(await run.state()).toMatchObject({ status: "parked", turn: 3, lastPosition: 2 });
      });
    });

    describe("against a renewal of its lease", () => {
      const renew = (run: Run) => (session: Session) => run.renew(session, "first");
      const finish = (run: Run) => (session: Session) => run.finish(session, { token: "first", next: "ready" });

      test("supersedes the renewal that waits for its lock", async () => {
        const run = await aRunAtWork(stage);
        const [, renewed] = await stage.collide({ first: finish(run), second: renew(run) });
        expect(renewed).toEqual({ outcome: "superseded" });
        expect(await run.state()).toMatchObject({ status: "parked", leasedUntil: null });
      });

      test("succeeds when it waits for the renewal's lock", async () => {
        const run = await aRunAtWork(stage);
        const [renewed, finished] = await stage.collide({ first: renew(run), second: finish(run) });
        expect(renewed).toMatchObject({ outcome: "renewed" });
        expect(finished).toMatchObject({ outcome: "finished" });
        expect(await run.state()).toMatchObject({ status: "parked", leasedUntil: null });
      });
    });

    describe("against the voiding of all leases", () => {
      const voidAll = (session: Session) => session.call("void_leases", {});

      test("succeeds when it waits for that: its token stands", async () => {
        const run = await aRunAtWork(stage);
        const finish = (session: Session) => run.finish(session, { token: "first", next: "ready" });
        const [, finished] = await stage.collide({ first: voidAll, second: finish });
        expect(finished).toMatchObject({ outcome: "finished" });
      });

      test("leaves nothing to void when that waits for its lock", async () => {
        const run = await aRunAtWork(stage);
        const finish = (session: Session) => run.finish(session, { token: "first", next: "ready" });
        await stage.collide({ first: finish, second: voidAll });
        expect(await run.state()).toMatchObject({ status: "parked", leasedUntil: null });
      });

      test("of a branch, leaves nothing to void when that waits for its lock", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        const finish = (session: Session) => run.finishBranch(session, "a", { token: "a" });
        await stage.collide({ first: finish, second: voidAll });
        expect(await run.pending()).toMatchObject({ a: { leasedUntil: null }, b: { leasedUntil: noon } });
      });

      test("loses to whoever claims afterwards", async () => {
        const run = await aRunAtWork(stage);
        await voidAll(stage.onlooker);
        const takeOver = (session: Session) => run.claim(session, { token: "second", alone: true });
        const finish = (session: Session) => run.finish(session, { token: "first", next: "ready" });
        const [taken, finished] = await stage.collide({ first: takeOver, second: finish });
        expect(taken).toMatchObject({ outcome: "claimed" });
        expect(finished).toEqual({ outcome: "superseded" });
        expect(await run.state()).toMatchObject({ leasedUntil: noon + minute });
      });
    });
  },
  { perTest: true },
);
