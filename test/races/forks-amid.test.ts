/** A fork and what begins the next epoch of the old run, a restart or a retry: each in both orders. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { allRowsOn } from "./next-epochs.ts";
import { aRecord, aRunAtWork, at, Run, soon } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres("a fork", (database) => {
  const stage = stageOn(database);
  const { state } = allRowsOn(stage);

  const values = { a: '0"A"', b: '0"B"' };
  /** Its third step has failed it. `copy` is the run that a fork from that step makes. */
  async function aFailedRun() {
    const run = await aRunAtWork(stage);
    const steps = Object.entries(values).map(([path, value]) => aRecord("step", path, { value }));
    await run.finish(stage.onlooker, {
      ...{ token: "first", records: [...steps, aRecord("step", "c", { isFailure: true })] },
      ...{ next: "failed", value: "0{}", failure: { at: 3, timeouts: [], lost: [], repeats: [] } },
    });
    const copy = new Run(stage, randomUUID());
    const fork = (more: { readonly epoch?: number }) => (session: Session) =>
      session.call("fork_run", { runId: run.id, newRunId: copy.id, from: at("c"), armed: [soon], ...more });
    return { run, copy, fork };
  }
  const historyOf = async ({ id }: Run) =>
    (
      await stage.look("select epoch, path, value from layover.record where run_id = $1 order by epoch, position", [id])
    ).map(({ epoch, path, value }) => [epoch, path, value]);
  const historyIn = (epoch: number) => Object.entries(values).map(([path, value]) => [epoch, path, value]);
  const failed = [...historyIn(0), [0, "c", "0null"]];
  const expectNone = async (copy: Run) => {
    expect(await stage.look("select from layover.run where id = $1", [copy.id])).toEqual([]);
    expect(await historyOf(copy)).toEqual([]);
  };
  const expectCopied = async (run: Run, copy: Run) => {
    expect(await historyOf(copy)).toEqual(historyIn(1));
    expect(await state(copy)).toMatchObject({ epoch: 1, status: "parked", turn: 1, last_position: 2 });
    expect(await stage.look("select why, segments from layover.epoch where run_id = $1", [copy.id])).toMatchObject([
      {
        why: "forked",
        segments: [
          { from: 0, run: run.id, epoch: 0 },
          { from: 2, run: copy.id, epoch: 1 },
        ],
      },
    ]);
  };

  describe.each([
    ["restart", { from: at("b") }, { outcome: "restarted", kept: 1, dropped: 2 }],
    ["retry", {}, { outcome: "retried", kept: 2, dropped: 1 }],
  ] as const)("and the %s of the old run", (verb, more, counts) => {
    const repair = (run: Run) => (session: Session) =>
      session.call(`${verb}_run`, { runId: run.id, callId: randomUUID(), armed: [soon], ...more });
    const began = { ...counts, epoch: 1, turn: 3 };
    const expectBegun = async (run: Run) => {
      expect(await state(run)).toMatchObject({ epoch: 1, status: "parked", turn: 3, last_position: counts.kept });
      expect(await historyOf(run)).toEqual([...failed, ...historyIn(1).slice(0, counts.kept)]);
    };

    test("that comes first: a fork of the epoch before is refused", async () => {
      const { run, copy, fork } = await aFailedRun();
      const [told, refused] = await stage.collide({ first: repair(run), second: fork({ epoch: 0 }) });
      expect(told).toMatchObject(began);
      expect(refused).toEqual({ outcome: "epoch_changed", epoch: 1, runId: run.id });
      await expectNone(copy);
      await expectBegun(run);
    });

    test("that comes first: a fork that names no epoch is refused, too, since the run goes on", async () => {
      const { run, copy, fork } = await aFailedRun();
      const [, refused] = await stage.collide({ first: repair(run), second: fork({}) });
      expect(refused).toEqual({ outcome: "not_applicable", status: "queued", runId: run.id });
      await expectNone(copy);
    });

    test.each([{ epoch: 0 }, {}])(
      "that comes first and rolls back: the run is copied as it was (%o)",
      async (epoch) => {
        const { run, copy, fork } = await aFailedRun();
        const [, told] = await stage.collide({ first: repair(run), second: fork(epoch), ends: "rollback" });
        expect(told).toEqual({ outcome: "forked", runId: copy.id, turn: 1 });
        await expectCopied(run, copy);
        expect([await historyOf(run), await state(run)]).toMatchObject([failed, { epoch: 0, status: "failed" }]);
      },
    );

    test.each([{ epoch: 0 }, {}])(
      "that waits for the fork: the copy is of the epoch that it leaves (%o)",
      async (epoch) => {
        const { run, copy, fork } = await aFailedRun();
        const [forked, told] = await stage.collide({ first: fork(epoch), second: repair(run) });
        expect(forked).toEqual({ outcome: "forked", runId: copy.id, turn: 1 });
        expect(told).toMatchObject(began);
        await expectCopied(run, copy);
        await expectBegun(run);
      },
    );

    test("that waits for the fork, which rolls back: no run is made, and the old one goes on", async () => {
      const { run, copy, fork } = await aFailedRun();
      const [, told] = await stage.collide({ first: fork({ epoch: 0 }), second: repair(run), ends: "rollback" });
      expect(told).toMatchObject(began);
      await expectNone(copy);
      await expectBegun(run);
    });
  });
});
