/** A run is moved to another version while somebody claims it, finishes it or sends it something. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { locksByPath } from "./lock-order.ts";
import {
  aDemand,
  aParkedRun,
  aRunAtWork,
  at,
  aWaitFor,
  branches,
  minute,
  noon,
  type Run,
  terms,
  tokenOf,
} from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "the move of a run to another version",
  (database) => {
    const stage = stageOn(database, {
      breaks: ["what is not over, paused or blocked and needs to be looked at has a due instant"],
    });
    const moving =
      (run: Run, more: object = {}) =>
      (session: Session) =>
        session.call("upgrade_run", {
          ...{ runId: run.id, from: 1, to: 2, epoch: 0, turn: 2, position: 0, lastMail: 0, callId: randomUUID() },
          ...{ signature: "two", by: "ada", ...more },
        });
    const versionOf = async (run: Run) =>
      (await stage.look("select version, signature from layover.run where id = $1", [run.id]))[0];

    /** Parked in its second turn, and ready. */
    async function aReadyRun(): Promise<Run> {
      const run = await aParkedRun(stage, [aWaitFor("go", { until: noon + minute })]);
      await stage.clock.advance(2 * minute);
      return run;
    }

    test("ends the pause after a setback: the new code is tried at once", async () => {
      const run = await aRunAtWork(stage);
      await run.finish(stage.onlooker, { token: "first", next: "parked", setback: "it took too long" });
      expect(await run.state()).toMatchObject({ turn: 2, readyAt: noon + minute });
      const moved = await moving(run, { armed: [noon + minute] })(stage.onlooker);
      expect(moved).toMatchObject({ outcome: "upgraded", turn: 3 });
      expect(await run.state()).toMatchObject({ turn: 3, readyAt: expect.toSatisfy((at: number) => at <= noon) });
    });

    test("has its branches dispatched as if nobody had tried: it counts nothing that the old hosts have left undone", async () => {
      const [run, other] = [await aParkedRun(stage, branches(["a", "b"])), await aParkedRun(stage, branches(["a"]))];
      await stage.look("update layover.pending set dispatches = 9 where path = 'a'");
      expect(await moving(run)(stage.onlooker)).toMatchObject({ outcome: "upgraded" });
      expect([await run.pending(), await other.pending()]).toMatchObject([
        { a: { dispatches: 0 }, b: { dispatches: 0 } },
        { a: { dispatches: 9 } },
      ]);
    });

    describe("and a claim by a deployment that has the old version only", () => {
      const claiming = (run: Run, turn: number) => (session: Session) => run.claim(session, { turn, token: "second" });

      test("is stale, if it has read the run before the move", async () => {
        const run = await aReadyRun();
        const [moved, claimed] = await stage.collide({ first: moving(run), second: claiming(run, 2) });
        expect(moved).toMatchObject({ outcome: "upgraded", version: 2, turn: 3 });
        expect(claimed).toEqual({ outcome: "stale", turn: 3 });
        expect(await run.claim(stage.onlooker, { turn: 3, token: "third" })).toMatchObject({ outcome: "not_here" });
        expect(await versionOf(run)).toEqual({ version: 2, signature: "two" });
      });

      test("wins, if it comes first", async () => {
        const run = await aReadyRun();
        const [claimed, moved] = await stage.collide({ first: claiming(run, 2), second: moving(run) });
        expect([claimed, moved]).toMatchObject([{ outcome: "claimed" }, { outcome: "at_work" }]);
        expect(await versionOf(run)).toMatchObject({ version: 1 });
      });

      const claimingBranch = (run: Run) => (session: Session) => run.claimBranch(session, "a", { token: "branch" });

      test("is told that the branch is not here, after the move", async () => {
        const run = await aParkedRun(stage, branches(["a"]));
        const [moved, claimed] = await stage.collide({ first: moving(run), second: claimingBranch(run) });
        expect(moved).toMatchObject({ outcome: "upgraded", branches: [{ path: "a", occurrence: 1, turn: 1 }] });
        expect(claimed).toMatchObject({ outcome: "not_here" });
      });

      test("has the branch, before the move, and the run stays", async () => {
        const run = await aParkedRun(stage, branches(["a"]));
        const [claimed, moved] = await stage.collide({ first: claimingBranch(run), second: moving(run) });
        expect([claimed, moved]).toMatchObject([{ outcome: "claimed" }, { outcome: "at_work" }]);
        expect(await versionOf(run)).toMatchObject({ version: 1 });
      });
    });

    describe("of which a process holds the handler of the old version", () => {
      const claim = (run: Run, have: object, more: object) =>
        stage.onlooker.call("claim_turns", {
          ...{ ...terms, versions: { flow: [1, 2] } },
          turns: [
            {
              ...run.toClaim({ token: "third", turn: 3 }),
              alone: true,
              ...more,
              have: { epoch: 0, position: 0, ...have },
            },
          ],
        });

      // A process of an earlier release does not tell the version.
      test.each([
        [{ version: 1 }, null],
        [{}, null],
        [{ version: 2 }, 0],
      ])("answers all of it to one that holds %j", async (have, answered) => {
        const run = await aReadyRun();
        await moving(run)(stage.onlooker);
        expect((await claim(run, have, {})).turns).toMatchObject([{ outcome: "claimed", have: answered }]);
        const branched = await aParkedRun(stage, branches(["a", "b"]));
        await moving(branched)(stage.onlooker);
        const ofBranch = { ...at("a"), turn: 1 };
        for (const more of [ofBranch, { ...ofBranch, alone: false, ...at("b") }])
          expect((await claim(branched, have, more)).turns).toMatchObject([{ outcome: "claimed", have: answered }]);
      });

      test("believes one that was never moved", async () => {
        const run = await aReadyRun();
        const turn = { ...run.toClaim({ token: "second", turn: 2 }), alone: true, have: { epoch: 0, position: 0 } };
        const { turns } = await stage.onlooker.call("claim_turns", { ...terms, turns: [turn] });
        expect(turns).toMatchObject([{ have: 0 }]);
      });
    });

    test("and a signal that comes first: it stays", async () => {
      const run = await aParkedRun(stage, [aWaitFor("go")]);
      const signal = (session: Session) => run.signal(session, "go");
      const [, moved] = await stage.collide({ first: signal, second: moving(run) });
      expect(moved).toEqual({ outcome: "moved_on", runId: run.id });
    });

    test.each([{ from: 2 }, { epoch: 1 }, { turn: 1 }, { position: 1 }, { lastMail: 7 }])(
      "is refused if it was looked at as %j",
      async (more) => {
        const run = await aParkedRun(stage, [aWaitFor("go")]);
        expect(await moving(run, more)(stage.onlooker)).toEqual({ outcome: "moved_on", runId: run.id });
        expect(await stage.look("select from layover.operation")).toEqual([]);
      },
    );

    test("that comes twice at once is told the same, and is kept once", async () => {
      const run = await aReadyRun();
      const again = moving(run, { callId: tokenOf("call") });
      const [first, second] = await stage.collide({ first: again, second: again });
      expect(second).toEqual({ outcome: "upgraded", runId: run.id, version: 2, turn: 3 });
      expect(first).toMatchObject(second);
      expect(await stage.look("select verb, asked_by from layover.operation")).toEqual([
        { verb: "upgrade", asked_by: "ada" },
      ]);
    });

    test("locks the branches by path, whatever their order", async () => {
      expect(await locksByPath(stage, (run, session) => moving(run)(session))).toBe(true);
    });

    test("leaves a paused run paused", async () => {
      const run = await aReadyRun();
      await run.operate(stage.onlooker, "pause");
      expect(await moving(run)(stage.onlooker)).toEqual({ outcome: "upgraded", runId: run.id, version: 2 });
      expect(await run.state()).toMatchObject({ dueAt: null });
      expect(await run.operate(stage.onlooker, "resume")).toMatchObject({ outcome: "resumed", turn: 3 });
    });

    test("answers pages of what the run has not taken", async () => {
      const run = await aParkedRun(stage, [aDemand("sleep", "nap", { until: noon + minute })]);
      for (let count = 0; count < 3; count += 1) await run.signal(stage.onlooker, "go");
      const read = (after: number) =>
        stage.onlooker.call("read_mail", { runId: run.id, budgetBytes: 10, ...(after > 0 && { after }) });
      const pages = [await read(0)];
      for (let page = pages[0]; page?.outcome === "read" && page.signals.length > 0; pages.push(page))
        page = await read(page.signals.at(-1)?.number ?? 0);
      expect(pages.map((page) => page.outcome === "read" && page.signals.length)).toEqual([2, 1, 0]);
    });
  },
  { perTest: true },
);
