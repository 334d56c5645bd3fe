/** The restart of a paused run and its cancel, and that restart and its resume: each in both orders. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { allRowsOn, iso, repairsOn } from "./next-epochs.ts";
import { aRecord, aRunAtWork, at, aWaitFor, noon, type Run, second, soon } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres("a restart of a paused run", (database) => {
  const stage = stageOn(database);
  const { rows, state } = allRowsOn(stage);
  const { claim } = repairsOn(stage);

  /** It waits for a signal after its steps `a` and `b`, and was paused a second ago. */
  async function aPausedRun(): Promise<Run> {
    await stage.clock.set(noon);
    const run = await aRunAtWork(stage);
    const records = [aRecord("step", "a"), aRecord("step", "b")];
    await run.finish(stage.onlooker, { token: "first", records, demands: [aWaitFor("go", { demandedAfter: 2 })] });
    await run.operate(stage.onlooker, "pause");
    await stage.clock.set(noon + second);
    return run;
  }
  const restart = (run: Run) => (session: Session) =>
    session.call("restart_run", { runId: run.id, callId: randomUUID(), from: at("b"), armed: [soon] });
  const operate = (run: Run, verb: "cancel" | "resume") => (session: Session) =>
    run.operate(session, verb, { reason: "ordered twice" });
  const restarted = { outcome: "restarted", epoch: 1, kept: 1, dropped: 1, turn: 3 };
  const all = async (run: Run) => ({ ...(await rows(run)), state: await state(run) });
  const operations = async (run: Run) =>
    (
      await stage.look(
        "select verb, verdict::json->>'outcome' as outcome from layover.operation where run_id = $1 order by verb",
        [run.id],
      )
    ).map(({ verb, outcome }) => `${verb}: ${outcome}`);
  const notApplicable = (run: Run, status: string) => ({ outcome: "not_applicable", runId: run.id, status });

  /** It goes on in its epoch 1, behind its step `a`. */
  async function expectRestarted(run: Run): Promise<void> {
    const began = { epoch: 1, status: "parked", turn: 3, last_position: 1, paused_at: null, has_pending: false };
    expect(await state(run)).toMatchObject({ ...began, cancel_requested_at: null, due_at: iso(soon) });
    await claim(run, "goes on");
    expect(await run.kinds()).toEqual(["step a", "step a", "step b"]);
  }

  describe("and a cancel", () => {
    const cancelled = { cancel_requested_at: iso(noon + second), cancel_reason: "ordered twice", paused_at: null };
    const closes = { ready_at: iso(0), due_at: iso(soon) };

    /** Claims the next turn, which writes the cancel into the history of this epoch, and ends the run there. */
    async function expectToClose(run: Run, epoch: number, position: number): Promise<void> {
      await claim(run, "closes");
      const closing = "select epoch, position, value from layover.record where run_id = $1 and kind = 'closing'";
      expect(await stage.look(closing, [run.id])).toEqual([{ epoch, position, value: "ordered twice" }]);
      const end = { token: "closes", position, next: "cancelled", value: "0{}" } as const;
      expect(await run.finish(stage.onlooker, end)).toMatchObject({ outcome: "finished", status: "cancelled" });
      expect(await state(run)).toMatchObject({ epoch, status: "cancelled" });
    }

    test("that waits for it: the run closes in its epoch 1", async () => {
      const run = await aPausedRun();
      const [told, cancelling] = await stage.collide({ first: restart(run), second: operate(run, "cancel") });
      expect(told).toMatchObject({ ...restarted, others: null });
      expect(cancelling).toEqual({ outcome: "cancelling", runId: run.id, turn: 3 });
      expect(await state(run)).toMatchObject({ epoch: 1, last_position: 1, ...cancelled, ...closes });
      await expectToClose(run, 1, 2);
      expect(await operations(run)).toEqual(["cancel: cancelling", "pause: paused", "restart: restarted"]);
    });

    test("that waits for it, and it rolls back: the run closes in its epoch 0", async () => {
      const run = await aPausedRun();
      const before = await all(run);
      const cancel = operate(run, "cancel");
      const [, told] = await stage.collide({ first: restart(run), second: cancel, ends: "rollback" });
      expect(told).toEqual({ outcome: "cancelling", runId: run.id, turn: 2 });
      expect(await all(run)).toEqual({ ...before, state: { ...Object(before.state), ...cancelled, ...closes } });
      await expectToClose(run, 0, 3);
    });

    test("that it waited for: nothing begins anew, and all is as the cancel left it", async () => {
      const run = await aPausedRun();
      const before = await all(run);
      const [told, refused] = await stage.collide({ first: operate(run, "cancel"), second: restart(run) });
      expect(told).toEqual({ outcome: "cancelling", runId: run.id, turn: 2 });
      expect(refused).toEqual(notApplicable(run, "cancelling"));
      expect(await all(run)).toEqual({ ...before, state: { ...Object(before.state), ...cancelled, ...closes } });
      expect(await rows(run)).toMatchObject({ epoch: [] });
      expect(await operations(run)).toEqual(["cancel: cancelling", "pause: paused", "restart: not_applicable"]);
      await expectToClose(run, 0, 3);
    });

    test("that it waited for, and that rolls back: the run goes on in its epoch 1", async () => {
      const run = await aPausedRun();
      const cancel = operate(run, "cancel");
      const [, told] = await stage.collide({ first: cancel, second: restart(run), ends: "rollback" });
      expect(told).toMatchObject(restarted);
      await expectRestarted(run);
      expect(await operations(run)).toEqual(["pause: paused", "restart: restarted"]);
    });
  });

  describe("and a resume", () => {
    const goesOn = { paused_at: null, due_at: iso(soon) };

    test("that waits for it finds a run that is paused no more", async () => {
      const run = await aPausedRun();
      const [told, refused] = await stage.collide({ first: restart(run), second: operate(run, "resume") });
      expect(told).toMatchObject(restarted);
      expect(refused).toEqual(notApplicable(run, "queued"));
      expect(await operations(run)).toEqual(["pause: paused", "restart: restarted", "resume: not_applicable"]);
      await expectRestarted(run);
    });

    test("that waits for it, and it rolls back: the run waits as before its pause", async () => {
      const run = await aPausedRun();
      const before = await all(run);
      const resume = operate(run, "resume");
      const [, told] = await stage.collide({ first: restart(run), second: resume, ends: "rollback" });
      expect(told).toEqual({ outcome: "resumed", runId: run.id, turn: null, branches: null });
      expect(await all(run)).toEqual({ ...before, state: { ...Object(before.state), ...goesOn } });
    });

    test("that it waited for leaves it a run that goes on", async () => {
      const run = await aPausedRun();
      const before = await all(run);
      const [told, refused] = await stage.collide({ first: operate(run, "resume"), second: restart(run) });
      expect(told).toEqual({ outcome: "resumed", runId: run.id, turn: null, branches: null });
      expect(refused).toEqual(notApplicable(run, "waiting"));
      expect(await all(run)).toEqual({ ...before, state: { ...Object(before.state), ...goesOn } });
      expect(await operations(run)).toEqual(["pause: paused", "restart: not_applicable", "resume: resumed"]);
      expect(await run.signal(stage.onlooker, "go")).toMatchObject({ outcome: "sent", turn: 2 });
    });

    test("that it waited for, and that rolls back: the run goes on in its epoch 1", async () => {
      const run = await aPausedRun();
      const resume = operate(run, "resume");
      const [, told] = await stage.collide({ first: resume, second: restart(run), ends: "rollback" });
      expect(told).toMatchObject(restarted);
      await expectRestarted(run);
    });
  });
});
