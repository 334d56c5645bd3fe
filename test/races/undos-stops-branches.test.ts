/** A run that closes while a branch or a cleanup is at work, and what else may end or hold it meanwhile. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aParkedRun, aRunAtWork, at, branches, minute, noon, type Run, second } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";
import { notApplicable, nowOn, operate } from "./stopping.ts";
import { claimsOn, closesBy, endsBy } from "./undoing.ts";

describeSomePostgres(
  "a run that owes undos",
  (database) => {
    const stage = stageOn(database);
    const claim = claimsOn(stage);
    const now = nowOn(stage);
    const claimed = { outcome: "claimed" };

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
  },
  { perTest: true },
);
