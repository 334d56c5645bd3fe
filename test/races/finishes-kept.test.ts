/** A finish writes the rows of its run, whatever stood there before. It waits for the locks of few other runs. */
import { beforeEach, describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { noteOn } from "./deploying.ts";
import { aChild } from "./invoking.ts";
import { locksByPath } from "./lock-order.ts";
import { aParkedRun, aRecord, aRunAtWork, aWaitFor, branches, minute, noon, Run, second, soon, terms } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";
import { aClose, anEnd } from "./undoing.ts";

const hour = 60 * minute;

describeSomePostgres(
  "the rows of a finished turn",
  (database) => {
    const stage = stageOn(database, { breaks: ["due may be early, never late (by more than two minutes)"] });
    const row = async (run: Run) => {
      const [found] = await stage.look(
        `select t.ready_at = 'epoch' as "isFromEpoch", layover.to_ms(t.due_at)::float8 as "dueAt", t.finished_answer, t.failed_undos,
          t.is_closing, t.namespace from layover.run_state t where t.run_id = $1`,
        [run.id],
      );
      return found ?? {};
    };
    /** Its second turn is under way. Answers the token of that. */
    const wake = async (run: Run) => {
      await stage.onlooker.query(
        "update layover.run_state set ready_at = 'epoch', due_at = layover.now() where run_id = $1",
        [run.id],
      );
      await run.claim(stage.onlooker, { token: `2 of ${run.id}`, turn: 2 });
      return `2 of ${run.id}`;
    };
    const goesOn = { token: "first", next: "ready", records: [aRecord("step", "charge")] } as const;
    const stale = (run: Run) =>
      stage.onlooker.query(
        `update layover.run_state set ready_at = layover.now(), due_at = layover.now() + interval '1 hour', finished_answer = '{}'
        where run_id = $1`,
        [run.id],
      );

    test("say when it is ready, looked at and leased, as of now: one step, and the next claim", async () => {
      const run = await aRunAtWork(stage);
      await stale(run);
      await stage.clock.advance(10 * second);
      await run.finish(stage.onlooker, { ...goesOn, claim: { token: "second", turn: 2 } });
      expect(await row(run)).toMatchObject({ isFromEpoch: true, dueAt: soon, finished_answer: null });
      expect(await run.state()).toMatchObject({ leasedUntil: noon + 10 * second + minute });
    });

    test("say when it is ready and looked at, as of now: in a set", async () => {
      const runs = [await aRunAtWork(stage), await aRunAtWork(stage)];
      for (const run of runs) await stale(run);
      await stage.onlooker.call("finish_turns", { ...terms, turns: runs.map((run) => run.toFinish(goesOn)) });
      for (const run of runs)
        expect(await row(run)).toMatchObject({ isFromEpoch: true, dueAt: soon, finished_answer: null });
    });

    test("stay as they are where a set is of another namespace", async () => {
      const runs = [await aRunAtWork(stage), await aRunAtWork(stage)];
      const turns = runs.map((run) => run.toFinish(goesOn));
      const told = await stage.onlooker.call("finish_turns", { ...terms, namespace: "other", turns });
      expect(told.turns).toMatchObject([{ outcome: "unknown" }, { outcome: "unknown" }]);
      for (const run of runs) expect(await run.state()).toMatchObject({ turn: 1, lastPosition: 0 });
    });

    test("count the undos that failed, until a turn counts another number", async () => {
      const run = await aRunAtWork(stage);
      await run.finish(stage.onlooker, { ...goesOn, failedUndos: 2, claim: { token: "second", turn: 2 } });
      expect(await row(run)).toMatchObject({ failed_undos: 2 });
      const steps = [aRecord("step", "one"), aRecord("step", "two")];
      await run.finish(stage.onlooker, { token: "second", position: 1, next: "ready", records: steps });
      expect(await row(run)).toMatchObject({ failed_undos: 2 });
    });

    test("keep a change of the code once, however often a turn meets it", async () => {
      const run = await aRunAtWork(stage);
      const patches = [{ path: "new price", position: 0 }];
      await run.finish(stage.onlooker, { ...goesOn, patches });
      await run.claim(stage.onlooker, { token: "second", turn: 2 });
      await run.finish(stage.onlooker, { token: "second", position: 1, next: "ready", patches });
      expect(await stage.look("select path from layover.patch")).toEqual([{ path: "new price" }]);
    });

    test("say that the run closes, until it has an end", async () => {
      const run = await aRunAtWork(stage);
      await run.finish(stage.onlooker, aClose());
      expect(await row(run)).toMatchObject({ is_closing: true });
      await run.claim(stage.onlooker, { token: "second", turn: 2 });
      const { lastPosition } = await run.state();
      await run.finish(stage.onlooker, anEnd({ token: "second", position: Number(lastPosition) }));
      expect(await row(run)).toMatchObject({ is_closing: false });
    });

    test("say that the run closes where it was to end while a branch is at work", async () => {
      const run = await aParkedRun(stage, branches(["a", "b"]));
      for (const path of ["a", "b"]) await run.claimBranch(stage.onlooker, path, { token: path });
      await run.finishBranch(stage.onlooker, "a", { token: "a" });
      await run.claim(stage.onlooker, { token: "second", turn: 2 });
      await run.finish(stage.onlooker, anEnd({ token: "second", position: 1 }));
      expect(await row(run)).toMatchObject({ is_closing: true });
    });

    test("have the run looked at as early as before where its code does not fit, and a branch of it is pending", async () => {
      const run = await aParkedRun(stage, branches(["a", "b"]));
      await run.claimBranch(stage.onlooker, "a", { token: "a" });
      await run.finishBranch(stage.onlooker, "a", { token: "a" });
      await run.claim(stage.onlooker, { token: "second", turn: 2 });
      for (const deployment of ["blue", "green"]) await noteOn(stage)(deployment, deployment);
      const finish = run.toFinish({
        token: "second",
        position: 1,
        next: "blocked",
        value: "no such step",
        armed: [noon + hour],
      });
      await stage.onlooker.call("finish_turns", { ...terms, turns: [{ ...finish, deployment: "green" }] });
      expect(await run.state()).toMatchObject({ status: "parked", blocked: null, dueAt: soon });
    });

    test.each<readonly [what: string, end: (run: Run) => Promise<unknown>]>([
      ["somebody has asked the run to end meanwhile", (run) => run.operate(stage.onlooker, "cancel")],
      ["its timeout has come", () => stage.clock.advance(minute)],
    ])("begin no next history where %s", async (_, end) => {
      const run = await aRunAtWork(stage, { timeoutMs: minute });
      await end(run);
      await run.finish(stage.onlooker, { ...goesOn, continues: "0{}" });
      expect(await stage.look("select epoch from layover.run_state")).toEqual([{ epoch: 0 }]);
    });

    test("have a run ready once it is paused no more, whose turn was to start another one meanwhile", async () => {
      const run = await aRunAtWork(stage);
      await run.operate(stage.onlooker, "pause");
      await run.finish(stage.onlooker, { token: "first", children: [aChild("it")] });
      await run.operate(stage.onlooker, "resume");
      expect(await run.state()).toMatchObject({ isReady: true });
    });

    describe("whose run writes down how it ends", () => {
      const aRunToEnd = async () => {
        const run = await aParkedRun(stage, branches(["b", "a"], { path: "all", slots: 1, failsFast: false }));
        await wake(run);
        return run;
      };
      const ending = (run: Run, session: Session) => run.finish(session, anEnd({ token: `2 of ${run.id}` }));

      test("are no branches and no maps any more", async () => {
        const run = await aRunToEnd();
        await ending(run, stage.onlooker);
        expect(await run.pending()).toEqual({});
        expect(await stage.look("select from layover.map where run_id = $1", [run.id])).toEqual([]);
      });

      test("are locked by the paths of its branches", async () => {
        expect(await locksByPath(stage, ending, wake)).toBe(true);
      });
    });

    test("are those of no end that came too late, and the next turn is not claimed, though another run has ended", async () => {
      const [run, other] = [await aRunAtWork(stage, { timeoutMs: minute }), await aRunAtWork(stage)];
      await other.finish(stage.onlooker, anEnd());
      const told = await run.finish(stage.onlooker, {
        ...anEnd({ at: noon + hour }),
        claim: { token: "second", turn: 2 },
      });
      expect(told).toMatchObject({ outcome: "finished", turn: 2, isReady: true });
      expect(told).not.toHaveProperty("claim");
    });

    test("are deferred where it misses a signal whose name it closes, however late its record is", async () => {
      const run = await aRunAtWork(stage, { timeoutMs: minute });
      await run.signal(stage.onlooker, "go");
      const records = [aRecord("step", "charge", { at: noon + hour })];
      const told = await run.finish(stage.onlooker, { token: "first", next: "parked", records, closes: ["go"] });
      expect(told).toMatchObject({ outcome: "deferred", turn: 2 });
    });

    describe("among families", () => {
      const aFamily = async (more = {}) => {
        const parent = await aRunAtWork(stage);
        const child = aChild("it", { isBound: true, ...more });
        await parent.finish(stage.onlooker, { token: "first", children: [child] });
        const run = new Run(stage, child.runId);
        await run.claim(stage.onlooker, { token: `of ${run.id}` });
        return { parent, child: run, token: `of ${run.id}` };
      };
      const hold = ({ id }: Run) => stage.hold("select from layover.run_state where run_id = $1 for update", [id]);
      /** It was waited for in vain. */
      const { value: _, ...late } = aRecord("child", "it");
      const completed = { next: "completed", value: "0null" } as const;

      beforeEach(async () => {
        await stage.onlooker.query("set statement_timeout = '5s'");
      });

      test.each([
        ["of a stranger", { token: "stranger" }, {}, "superseded"],
        ["of a turn that saw less", { position: -1 }, {}, "deferred"],
        ["of another namespace", {}, { namespace: "other" }, "unknown"],
      ])("change for no end %s, which waits for no family", async (_, finish, call, outcome) => {
        const { parent, child, token } = await aFamily();
        await hold(parent);
        const turns = [child.toFinish({ token, ...completed, ...finish })];
        const told = await stage.onlooker.call("finish_turns", { ...terms, ...call, turns });
        expect(told.turns).toMatchObject([{ outcome }]);
      });

      test("are those of no end that came too late: it is ready for the claim that writes the timeout", async () => {
        const { child, token } = await aFamily({ timeoutMs: minute });
        const records = [aRecord("step", "charge", { at: noon + hour })];
        const told = await child.finish(stage.onlooker, { token, ...completed, records });
        expect(told).toMatchObject({ outcome: "finished", status: "parked", isReady: true });
      });

      test("do not wait for the parent where the run cannot end yet", async () => {
        const { parent, child, token } = await aFamily();
        await child.finish(stage.onlooker, { token, demands: branches(["a"]) });
        await child.claimBranch(stage.onlooker, "a", { token: "a" });
        const next = await wake(child);
        await hold(parent);
        await child.finish(stage.onlooker, anEnd({ token: next }));
        expect(await row(child)).toMatchObject({ is_closing: true });
      });

      test("do not wait for a run that it goes on to wait for", async () => {
        const { parent, child } = await aFamily();
        const token = await wake(parent);
        await parent.signal(stage.onlooker, "go");
        await hold(child);
        const told = await parent.finish(stage.onlooker, { token, closes: ["go"] });
        expect(told).toMatchObject({ outcome: "deferred" });
      });

      test("and the answer name the run that is asked to end, beside the next claim", async () => {
        const { parent, child } = await aFamily();
        const token = await wake(parent);
        const told = await parent.finish(stage.onlooker, {
          ...{ token, next: "ready", records: [late] },
          claim: { token: "third", turn: 3 },
        });
        expect(told).toMatchObject({ claim: { outcome: "claimed" }, others: [{ runId: child.id }] });
      });

      test("and the answer name the run that is asked to end, where the parent goes on with its turn", async () => {
        const { parent, child, token } = await aFamily();
        await wake(parent);
        const start = aChild("below", { isBound: true });
        await child.finish(stage.onlooker, { token, children: [start] });
        const told = await child.finish(stage.onlooker, { token: await wake(child), ...completed });
        expect(told).toMatchObject({ others: [{ runId: start.runId }] });
      });

      test.each([
        ["two steps, and the next claim", { records: [aRecord("step", "a"), aRecord("step", "b")], next: "ready" }],
        ["a wait", { demands: [aWaitFor("go")] }],
      ] as const)("and the answer name no other run where none is concerned: %s", async (_, finish) => {
        const run = await aRunAtWork(stage);
        const told = await run.finish(stage.onlooker, {
          token: "first",
          ...finish,
          claim: { token: "second", turn: 2 },
        });
        expect(told).toMatchObject({ outcome: "finished" });
        expect(told).not.toHaveProperty("others");
      });

      test.each<readonly [what: string, finish: () => Partial<Parameters<Run["finish"]>[1]>, others: number]>([
        ["it ends", () => completed, 1],
        ["it waits for another run no more", () => ({ records: [late] }), 1],
        ["it starts a run", () => ({ children: [aChild("another")] }), 1],
        ["it starts a run, and waits for another one no more", () => ({ children: [aChild("b")], records: [late] }), 2],
      ])("answer the same finish again, and those of no other run answer so: %s", async (_, make, others) => {
        const bystander = await aParkedRun(stage, [aWaitFor("go")]);
        const again = () => bystander.finish(stage.onlooker, { token: "first", demands: [aWaitFor("go")] });
        const before = await again();
        const { parent } = await aFamily();
        const finish = { token: await wake(parent), ...make() };
        const told = await parent.finish(stage.onlooker, finish);
        expect("others" in told && told.others).toHaveLength(others);
        expect(await parent.finish(stage.onlooker, finish)).toEqual(told);
        expect(await again()).toEqual(before);
      });
    });
  },
  { perTest: true },
);
