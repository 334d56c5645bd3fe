/** A run that ends or is undone, and what else may end or hold it: a cancel, its timeout, a pause and a termination. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aParkedRun, aRecord, aRunAtWork, at, branches, minute, noon, type Run, second } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";
import { closesBy, endsBy } from "./undoing.ts";

const timeoutMs = 3 * minute;

describeSomePostgres(
  "a run that owes undos",
  (database) => {
    const stage = stageOn(database);
    const claim = (run: Run, turn: number) => run.claim(stage.onlooker, { turn, token: `turn ${turn}` });
    const operate = (verb: "cancel" | "pause" | "resume" | "terminate", run: Run) => (session: Session) =>
      run.operate(session, verb);
    const now = <Result>(act: (session: Session) => Promise<Result>) => act(stage.onlooker);
    const claimed = { outcome: "claimed" };
    const notApplicable = { outcome: "not_applicable", status: "compensating" };
    const ways = [
      ["ends", endsBy, ["step x", "ending"]],
      ["closes", closesBy, ["step x"]],
    ] as const;
    const over = (turn: number, position: number, next: "failed" | "cancelled") => (run: Run) => (session: Session) => {
      const records = [aRecord("step", "[undo]/x")];
      return run.finish(session, { token: `turn ${turn}`, position, next, value: "0{}", failedUndos: 0, records });
    };
    /** Its second turn, with its first undo, is under way. */
    const anUndoneRun = async () => {
      const run = await aRunAtWork(stage);
      await now(endsBy(run));
      await claim(run, 2);
      return run;
    };

    describe.each(ways)("and %s", (_, finishBy, kinds) => {
      test("before a cancel that waits for it: the cancel does not apply, and the run fails", async () => {
        const run = await aRunAtWork(stage);
        const [finished, told] = await stage.collide({ first: finishBy(run), second: operate("cancel", run) });
        expect([finished, told]).toMatchObject([{ outcome: "finished", turn: 2, isReady: true }, notApplicable]);
        expect(await claim(run, 2)).toMatchObject({ ...claimed, position: kinds.length });
        expect(await run.kinds()).toEqual(kinds);
      });

      test("before a cancel that waits for it, and rolls back: the run is cancelled", async () => {
        const run = await aRunAtWork(stage);
        const both = { first: finishBy(run), second: operate("cancel", run), ends: "rollback" } as const;
        expect((await stage.collide(both))[1]).toMatchObject({ outcome: "cancelling" });
        expect(await now(finishBy(run))).toMatchObject({ outcome: "finished", turn: 2, isReady: true });
        await claim(run, 2);
        expect(await run.kinds()).toEqual(["step x", "closing"]);
      });

      test("after a cancel whose lock it waits for: its records are kept, and the run is cancelled", async () => {
        const run = await aRunAtWork(stage);
        const [told, finished] = await stage.collide({ first: operate("cancel", run), second: finishBy(run) });
        const parked = { outcome: "finished", turn: 2, status: "parked", isReady: true };
        expect([told, finished]).toMatchObject([{ outcome: "cancelling" }, parked]);
        expect(await now(finishBy(run))).toMatchObject({ outcome: "finished", turn: 2 }); // the same finish again
        expect(await claim(run, 2)).toMatchObject({ ...claimed, position: 2, attempted: null });
        expect(await run.kinds()).toEqual(["step x", "closing"]);
        const end = { token: "turn 2", position: 2, next: "cancelled" } as const;
        expect(await now(endsBy(run, end))).toMatchObject({ outcome: "finished", turn: 3 });
        await claim(run, 3);
        const last = over(3, 4, "cancelled")(run);
        expect(await now(last)).toMatchObject({ outcome: "finished", status: "cancelled" });
      });

      test("in time: its timeout is written no more, though it passes before the next claim", async () => {
        const run = await aRunAtWork(stage, { timeoutMs });
        await stage.clock.set(noon + timeoutMs + second);
        await now(finishBy(run, { at: noon + timeoutMs }));
        await stage.clock.advance(timeoutMs);
        expect(await claim(run, 2)).toMatchObject({ ...claimed, position: kinds.length, timeoutAt: null });
        expect(await run.kinds()).toEqual(kinds);
      });

      test("too late: its records are kept, and the next claim writes the timeout", async () => {
        const run = await aRunAtWork(stage, { timeoutMs });
        const after = noon + timeoutMs + second;
        await stage.clock.set(after);
        const late = finishBy(run, { at: noon + timeoutMs + 1 });
        expect(await now(late)).toMatchObject({ outcome: "finished", turn: 2, isReady: true });
        expect(await now(late)).toMatchObject({ outcome: "finished", turn: 2 });
        expect(await claim(run, 2)).toMatchObject({ ...claimed, position: 2 });
        expect(await run.kinds()).toEqual(["step x", "cancellation"]);
        expect(await now(endsBy(run, { token: "turn 2", position: 2, at: after }))).toMatchObject({ turn: 3 });
        expect(await run.kinds()).toEqual(["step x", "cancellation", "step x", "ending"]);
        expect(await claim(run, 3)).toMatchObject({ ...claimed, position: 4 });
      });

      test("and the claim that writes its timeout, since its lease is over: the first of both stands", async () => {
        const takeOver = (run: Run) => (session: Session) => run.claim(session, { token: "other" });
        const run = await aRunAtWork(stage, { timeoutMs: second });
        await stage.clock.advance(minute);
        const [finished, stale] = await stage.collide({ first: finishBy(run), second: takeOver(run) });
        expect([finished, stale]).toMatchObject([
          { outcome: "finished", turn: 2 },
          { outcome: "stale", turn: 2 },
        ]);
        expect(await run.kinds()).toEqual(kinds);
        const other = await aRunAtWork(stage, { timeoutMs: second });
        await stage.clock.advance(minute);
        const [taken, late] = await stage.collide({ first: takeOver(other), second: finishBy(other) });
        expect([taken, late]).toMatchObject([{ ...claimed, position: 1 }, { outcome: "superseded" }]);
        expect(await other.kinds()).toEqual(["cancellation"]);
      });

      test("after a pause whose lock it waits for: it stands, and what follows waits until the run is resumed", async () => {
        const run = await aRunAtWork(stage);
        const [told, finished] = await stage.collide({ first: operate("pause", run), second: finishBy(run) });
        expect([told, finished]).toMatchObject([{ outcome: "paused" }, { outcome: "finished", turn: 2 }]);
        expect(await claim(run, 2)).toEqual({ outcome: "paused" });
        expect(await now(operate("resume", run))).toMatchObject({ outcome: "resumed", turn: 2 });
        expect(await claim(run, 2)).toMatchObject({ ...claimed, position: kinds.length });
      });

      test("after a termination whose lock it waits for: it is superseded", async () => {
        const run = await aRunAtWork(stage);
        const [told, finished] = await stage.collide({ first: operate("terminate", run), second: finishBy(run) });
        expect([told, finished]).toEqual([{ outcome: "terminated", runId: run.id }, { outcome: "superseded" }]);
        expect(await run.kinds()).toEqual([]);
      });

      test("before a termination that waits for it: its records are kept, and no undo begins", async () => {
        const run = await aRunAtWork(stage);
        const [, told] = await stage.collide({ first: finishBy(run), second: operate("terminate", run) });
        expect(told).toEqual({ outcome: "terminated", runId: run.id });
        expect(await claim(run, 2)).toEqual({ outcome: "over", status: "cancelled" });
        expect(await run.kinds()).toEqual(kinds);
      });
    });

    describe("and closes while a branch is at work", () => {
      const atWork = async (more: { timeoutMs?: number } = {}) => {
        const run = await aFanOut(stage, ["a", "b"], more);
        await run.finishBranch(stage.onlooker, "a", { token: "a" });
        await claim(run, 2);
        return run;
      };
      const aClosedRun = async (more?: { timeoutMs?: number }) => {
        const run = await atWork(more);
        await now(closesBy(run, { token: "turn 2", position: 1 }));
        return run;
      };
      const finishB = (run: Run) => (session: Session) => run.finishBranch(session, "b", { token: "b" });

      test("is not cancelled any more, and its branch is told that the handler has ended", async () => {
        const run = await aClosedRun();
        expect(await now(operate("cancel", run))).toMatchObject(notApplicable);
        expect(await run.renew(stage.onlooker, "b", { path: "b" })).toMatchObject({
          outcome: "renewed",
          cancel: { reason: "its handler has ended" },
        });
        expect(await now(finishB(run))).toMatchObject({ continues: 3 });
        await claim(run, 3);
        expect(await run.kinds()).toEqual(["step a", "step x", "step b"]);
      });

      test("is not ended by its timeout, which passes while it waits for the branch", async () => {
        const run = await aClosedRun({ timeoutMs: second });
        await stage.clock.advance(second);
        expect(await claim(run, 3)).toEqual({ outcome: "not_ready", readyAt: noon + minute });
        await stage.clock.advance(minute);
        expect(await claim(run, 3)).toMatchObject({ ...claimed, position: 2, attempted: [at("b")] });
        expect(await run.kinds()).toEqual(["step a", "step x"]);
      });

      test("cannot be paused until its ending is written", async () => {
        const run = await aClosedRun();
        expect(await now(operate("pause", run))).toMatchObject(notApplicable);
        await now(finishB(run));
        await claim(run, 3);
        expect(await now(operate("pause", run))).toMatchObject(notApplicable);
        await now(endsBy(run, { token: "turn 3", position: 3 }));
        expect(await now(operate("pause", run))).toMatchObject({ outcome: "paused" });
      });

      test("and was paused before: its last branch sends for nobody, and the run goes on when it is resumed", async () => {
        const run = await atWork();
        await now(operate("pause", run));
        await now(closesBy(run, { token: "turn 2", position: 1 }));
        expect(await now(finishB(run))).toMatchObject({ outcome: "finished", continues: null });
        expect(await now(operate("resume", run))).toMatchObject({ outcome: "resumed", turn: 3 });
        expect(await claim(run, 3)).toMatchObject({ ...claimed, position: 3, attempted: [] });
      });

      test("and is terminated: the branch records nothing more", async () => {
        const run = await aClosedRun();
        const [told, late] = await stage.collide({ first: operate("terminate", run), second: finishB(run) });
        expect([told, late]).toMatchObject([{ outcome: "terminated" }, { outcome: "superseded" }]);
        expect(await run.kinds()).toEqual(["step a", "step x"]);
      });
    });

    describe("after its cancel is written", () => {
      test("closes beside a cleanup that is at work, and waits for it, and its hour does not end it again", async () => {
        const run = await aRunAtWork(stage);
        await now(operate("cancel", run));
        await run.finish(stage.onlooker, { token: "first", next: "ready" });
        await claim(run, 2);
        const demands = branches(["k/a", "k/b"]).map((demand) => ({
          ...demand,
          demandedAfter: 1,
          isShielded: true as const,
        }));
        await run.finish(stage.onlooker, { token: "turn 2", position: 1, demands });
        for (const path of ["k/a", "k/b"]) await run.claimBranch(stage.onlooker, path, { token: path });
        await run.finishBranch(stage.onlooker, "k/a", { token: "k/a" });
        await claim(run, 3);
        await now(closesBy(run, { token: "turn 3", position: 2 }));
        await stage.clock.advance(second);
        expect(await claim(run, 4)).toEqual({ outcome: "not_ready", readyAt: noon + minute });
        await stage.clock.advance(60 * minute);
        expect(await claim(run, 4)).toMatchObject({ ...claimed, position: 3, attempted: [at("k/b")] });
        expect(await run.kinds()).toEqual(["closing", "step k/a", "step x"]);
      });

      test("knows of the branches whose leases were lost, and of none that nobody began", async () => {
        const run = await aParkedRun(stage, branches(["a", "b", "c"]));
        for (const path of ["a", "b"]) await run.claimBranch(stage.onlooker, path, { token: path });
        await now(operate("cancel", run));
        expect(await claim(run, 2)).toEqual({ outcome: "not_ready", readyAt: noon + minute });
        await run.finishBranch(stage.onlooker, "a", { token: "a" });
        await stage.clock.advance(minute);
        expect(await claim(run, 2)).toMatchObject({ ...claimed, position: 2 });
        await now(closesBy(run, { token: "turn 2", position: 2, at: noon + minute }));
        expect(await claim(run, 3)).toMatchObject({ ...claimed, position: 3, attempted: [at("b")] });
      });

      test.each([
        ["was given back", 2],
        ["lapsed", 2],
        ["was finished", 1],
      ])("tells whether a turn was begun and not finished: its lease %s", async (how, attempts) => {
        const run = await aRunAtWork(stage);
        const turns = [{ runId: run.id, token: run.toClaim({ token: "first" }).token }];
        if (how === "was given back") await stage.onlooker.call("return_leases", { turns });
        if (how === "was finished") await run.finish(stage.onlooker, { token: "first", next: "ready" });
        await now(operate("cancel", run));
        await stage.clock.advance(minute);
        const turn = how === "was finished" ? 2 : 1;
        expect(await run.claim(stage.onlooker, { turn, token: "next" })).toMatchObject({
          ...claimed,
          records: [["closing", "", 1, true, "to see", noon + minute, attempts]],
        });
      });
    });

    describe("and whose undos are under way", () => {
      const finishUndo = (run: Run) => (session: Session) =>
        run.finish(session, { token: "turn 2", position: 2, next: "ready", records: [aRecord("step", "[undo]/x")] });
      const end = over(2, 2, "failed");

      test("is not cancelled, and nobody is told to stop", async () => {
        const run = await anUndoneRun();
        expect(await now(operate("cancel", run))).toMatchObject(notApplicable);
        expect(await run.renew(stage.onlooker, "turn 2")).toMatchObject({ outcome: "renewed", cancel: null });
        expect(await now(end(run))).toMatchObject({ outcome: "finished", status: "failed" });
      });

      test("is paused by whoever waits for the finish of an undo: the next one is held until it is resumed", async () => {
        const run = await anUndoneRun();
        const [undone, told] = await stage.collide({ first: finishUndo(run), second: operate("pause", run) });
        expect([undone, told]).toMatchObject([{ outcome: "finished", turn: 3 }, { outcome: "paused" }]);
        expect(await claim(run, 3)).toEqual({ outcome: "paused" });
        expect(await run.state()).toMatchObject({ dueAt: null });
        expect(await now(operate("resume", run))).toMatchObject({ outcome: "resumed", turn: 3 });
        expect(await claim(run, 3)).toMatchObject({ ...claimed, position: 3 });
      });

      test("is paused: the undo under way is recorded, also with a claim that comes along, and the next one is held", async () => {
        const run = await anUndoneRun();
        const next = { turn: 3, token: "turn 3", have: { epoch: 0, position: 3 } };
        const goOn = (session: Session) =>
          run.finish(session, {
            token: "turn 2",
            position: 2,
            next: "ready",
            records: [aRecord("step", "[undo]/x")],
            claim: next,
          });
        const [, undone] = await stage.collide({ first: operate("pause", run), second: goOn });
        expect(undone).toMatchObject({ outcome: "finished", turn: 3 });
        expect(await run.state()).toMatchObject({ status: "parked", token: null, lastPosition: 3 });
        expect(await claim(run, 3)).toEqual({ outcome: "paused" });
        await now(operate("resume", run));
        expect(await claim(run, 3)).toMatchObject({ ...claimed, position: 3 });
      });

      test("waits in a pause for its next attempt, and has it when it is resumed", async () => {
        const run = await anUndoneRun();
        const attempt = {
          ...at("[undo]/x"),
          number: 1,
          beganAt: noon,
          endedAt: noon,
          error: "0null",
          demandedAfter: 2,
        };
        await run.finish(stage.onlooker, { token: "turn 2", position: 2, attempt: { ...attempt, retryInMs: minute } });
        await now(operate("pause", run));
        await stage.clock.advance(10 * minute);
        expect(await claim(run, 3)).toEqual({ outcome: "paused" });
        expect(await now(operate("resume", run))).toMatchObject({ turn: 3 });
        expect(await claim(run, 3)).toMatchObject({ ...claimed, pending: [{ path: "[undo]/x", attempts: 1 }] });
      });

      test("and is terminated by whoever waits for the end: the end stands", async () => {
        const run = await anUndoneRun();
        const [ended, told] = await stage.collide({ first: end(run), second: operate("terminate", run) });
        expect([ended, told]).toMatchObject([{ status: "failed" }, { outcome: "not_applicable", status: "failed" }]);
      });

      test("and is terminated: its undo records nothing more, and none begins", async () => {
        const run = await anUndoneRun();
        const [told, undone] = await stage.collide({ first: operate("terminate", run), second: finishUndo(run) });
        expect([told, undone]).toMatchObject([{ outcome: "terminated" }, { outcome: "superseded" }]);
        expect(await claim(run, 3)).toEqual({ outcome: "over", status: "cancelled" });
        expect(await run.kinds()).toEqual(["step x", "ending"]);
      });

      test("has no timeout any more, however long they take", async () => {
        const run = await aRunAtWork(stage, { timeoutMs });
        await now(endsBy(run));
        await stage.clock.advance(10 * timeoutMs);
        expect(await claim(run, 2)).toMatchObject({ ...claimed, position: 2 });
        const late = [aRecord("step", "[undo]/x", { at: noon + 10 * timeoutMs })];
        const last = {
          token: "turn 2",
          position: 2,
          next: "failed",
          value: "0{}",
          failedUndos: 0,
          records: late,
        } as const;
        expect(await run.finish(stage.onlooker, last)).toMatchObject({ outcome: "finished", status: "failed" });
        expect(await run.kinds()).toEqual(["step x", "ending", "step [undo]/x"]);
      });
    });
  },
  { perTest: true },
);
