/** A history is not cut where its run was waiting for a run that it had invoked: which runs count, and which do not. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type * as wire from "../../src/postgres/wire.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import { aChild } from "./invoking.ts";
import { aRecord, aRun, at, aWaitFor, noon, type Run, second, soon, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

interface Life {
  /** Default: noon. */
  readonly from?: number;
  readonly turn?: number;
  readonly children?: readonly wire.NewChild[];
  /** The records of its second turn that follow the steps `a` and `b`. Default: the step `c`. */
  readonly records?: readonly wire.NewRecord[];
  readonly fails?: boolean;
}

describeSomePostgres(
  "the runs that a run has invoked",
  (database) => {
    const stage = stageOn(database);
    const claim = async (run: Run, turn: number) => {
      const turns = [run.toClaim({ turn, token: `turn ${turn}` })];
      expect(await stage.onlooker.call("claim_turns", { ...terms, knowsEpochs: true, turns })).toMatchObject({
        turns: [{ outcome: "claimed" }],
      });
    };
    /** Plays an epoch of twenty seconds: `a` is recorded with the start of the children, `b` ten seconds later, and then `c` ends it. */
    const live = async (run: Run, { from = noon, turn = 1, children = [], records, fails = false }: Life) => {
      await stage.clock.set(from);
      await claim(run, turn);
      const demands = [aWaitFor("go")];
      await run.finish(stage.onlooker, {
        ...{ token: `turn ${turn}`, records: [aRecord("step", "a", { at: from })], children, demands },
      });
      await stage.clock.set(from + 10 * second);
      await run.signal(stage.onlooker, "go");
      await claim(run, turn + 1);
      const later = { at: from + 10 * second };
      const [signal] = await stage.look("select number from layover.signal where run_id = $1 and position is null", [
        run.id,
      ]);
      const taken = aRecord("signal", "go", { ...later, value: '0"here"', signal: Number(signal?.["number"]) });
      const rest = records ?? [aRecord("step", "c", { at: from + 15 * second })];
      await stage.clock.set(from + 20 * second);
      await run.finish(stage.onlooker, {
        ...{
          token: `turn ${turn + 1}`,
          position: Number((await run.state())["lastPosition"]),
          records: [taken, aRecord("step", "b", later), ...rest],
        },
        ...{ next: fails ? "failed" : "completed", value: "0{}" },
      });
    };
    const fork = async ({ id: runId }: Run, from: string) =>
      await stage.onlooker.call("fork_run", { runId, newRunId: randomUUID(), armed: [soon], from: at(from) });
    const restart = async ({ id: runId }: Run) =>
      await stage.onlooker.call("restart_run", { runId, callId: randomUUID(), armed: [soon] });
    const isOpen = { outcome: "child_open", path: "it", occurrence: 1 };
    const forked = { outcome: "forked" };
    const left = (at: string) => `cancel_reason = 'its parent waits for it no more', cancel_requested_at = ${at}`;
    const ended = (at: string) =>
      `status = 'completed', result = '0null', ready_at = null, due_at = null, ended_at = ${at}`;
    test.each([
      ["has not ended", "status = status", isOpen],
      ["ended after its parent", ended("layover.now() + interval '1 second'"), isOpen],
      ["ended with its parent", ended("layover.now()"), isOpen],
      ["ended before, and was not waited for any more", ended("layover.now() - interval '1 second'"), forked],
      ["lost a race before", left("layover.now() - interval '6 seconds'"), forked],
      ["lost a race to what comes next", left("layover.now() - interval '5 seconds'"), forked],
      ["lost a race later", left("layover.now() - interval '4 seconds'"), isOpen],
      ["was left by its parent's end", left("layover.now()"), isOpen],
      [
        "timed out before",
        "cancel_reason = 'timeout', cancel_requested_at = layover.now() - interval '6 seconds'",
        isOpen,
      ],
      ["was cancelled before, for no reason", "cancel_requested_at = layover.now() - interval '6 seconds'", isOpen],
    ])("keep a cut away behind their start, and not before it: one that %s", async (_, assignments, outcome) => {
      const [run, child] = [await aRun(stage), aChild("it")];
      await live(run, { children: [child] });
      await stage.look(`update layover.run_state set ${assignments} where run_id = $1`, [child.runId]);
      expect(await fork(run, "c")).toMatchObject(outcome);
      expect(await fork(run, "go")).toMatchObject(forked);
    });

    test.each([
      ["at its parent's cancel", "7 seconds", isOpen],
      ["before its parent's cancel", "8 seconds", forked],
    ])("keep a cut away where they were left %s, which is written later", async (_, before, outcome) => {
      const [run, child] = [await aRun(stage), aChild("it")];
      await live(run, { children: [child] });
      const ask = "update layover.run_state set cancel_requested_at = layover.now() - $2::interval, cancel_reason = $3";
      await stage.look(`${ask} where run_id = $1`, [run.id, "7 seconds", "mine"]);
      await stage.look(`${ask} where run_id = $1`, [child.runId, before, "its parent waits for it no more"]);
      expect(await fork(run, "c")).toMatchObject(outcome);
    });

    test("keep a cut away from before their ends that are recorded, and from none behind them", async () => {
      const [run, child] = [await aRun(stage), aChild("it")];
      const records = [
        aRecord("child", "it", { at: noon + 12 * second }),
        aRecord("step", "c", { at: noon + 15 * second }),
      ];
      await live(run, { children: [child], records });
      expect(await fork(run, "c")).toMatchObject(forked);
      expect(await fork(run, "it")).toMatchObject(isOpen);
    });

    test("keep a cut away though what comes next was recorded in the instant in which the parent left them", async () => {
      const [run, child] = [await aRun(stage), aChild("it")];
      const records = [aRecord("step", "c", { at: noon + 20 * second })];
      await live(run, { children: [child], records });
      await stage.look(`update layover.run_state set ${left("layover.now()")} where run_id = $1`, [child.runId]);
      expect(await fork(run, "c")).toMatchObject(isOpen);
    });

    test("are told apart by run, epoch and place, and the first one by its id is named", async () => {
      const idOf = (number: number) => `00000000-0000-7000-8000-00000000000${number}`;
      const recorded = (kind: "child" | "step", path: string, from: number, occurrence = 1) =>
        aRecord(kind, path, { occurrence, at: from + 15 * second });
      const [stranger, run] = [await aRun(stage), await aRun(stage)];
      const from = noon + 60 * second;
      for (const one of [stranger, run]) {
        await live(one, { records: [recorded("step", "c", noon), recorded("child", "it", noon)] });
        await stage.clock.set(from);
        await restart(one);
      }
      await live(stranger, { from, turn: 4, records: [recorded("step", "c", from), recorded("child", "it", from)] });
      const places = [at("it"), at("other"), { path: "it", occurrence: 2 }];
      const children = places.map((place, index) =>
        aChild(place.path, { ...place, runId: idOf(index + 1), ordinal: index + 1, demandedAfter: 1 }),
      );
      const records = [recorded("step", "c", from), recorded("child", "other", from), recorded("child", "it", from, 2)];
      await live(run, { from, turn: 4, children, records });
      await stage.look(
        `update layover.run_state set ${ended("layover.now() - interval '1 second'")} where run_id = $1`,
        [idOf(1)],
      );
      expect(await fork(run, "c")).toMatchObject({ ...isOpen, path: "other" });
    });

    test("do not count where they were started alone, or by other runs", async () => {
      const [other, run] = [await aRun(stage), await aRun(stage)];
      await live(other, { children: [aChild("another", { runId: "00000000-0000-7000-8000-000000000001" })] });
      await live(run, { children: [aChild("it", { isDetached: true })] });
      expect(await fork(run, "c")).toMatchObject(forked);
      expect(await fork(other, "c")).toMatchObject({ outcome: "child_open", path: "another" });
    });

    describe("in epochs before", () => {
      const later = noon + 60 * second;

      test("do not count after a restart, also where another one follows", async () => {
        const run = await aRun(stage);
        await live(run, { children: [aChild("it")] });
        for (const [epoch, turn] of [4, 7].entries()) {
          const from = later + epoch * 60 * second;
          await stage.clock.set(from);
          await restart(run);
          await live(run, { from, turn, children: epoch === 0 ? [aChild("it", { demandedAfter: 1 })] : [] });
        }
        expect(await fork(run, "c")).toMatchObject(forked);
      });

      test("count after a retry, which keeps them", async () => {
        const run = await aRun(stage);
        await live(run, { children: [aChild("it")], fails: true });
        await stage.clock.set(later);
        const retry = { runId: run.id, callId: randomUUID(), armed: [later + 60 * second] };
        expect(await stage.onlooker.call("retry_run", retry)).toMatchObject({ outcome: "retried", kept: 4 });
        await claim(run, 4);
        await run.finish(stage.onlooker, { token: "turn 4", position: 4, next: "completed", value: "0null" });
        expect(await fork(run, "c")).toMatchObject(isOpen);
      });

      test("do not count once they have ended, also where the code of a retry asks for a step in their place", async () => {
        const [run, child] = [await aRun(stage), aChild("it")];
        await live(run, { children: [child], fails: true });
        await stage.clock.set(later);
        const retry = { runId: run.id, callId: randomUUID(), armed: [later + 60 * second] };
        expect(await stage.onlooker.call("retry_run", retry)).toMatchObject({ outcome: "retried", kept: 4 });
        await claim(run, 4);
        const records = [aRecord("step", "it", { at: later })];
        await run.finish(stage.onlooker, { token: "turn 4", position: 4, next: "completed", value: "0null", records });
        await stage.look(
          `update layover.run_state set ${ended("layover.now() - interval '1 second'")} where run_id = $1`,
          [child.runId],
        );
        expect(await fork(run, "it")).toMatchObject(forked);
      });

      test("count if they were started at the instant of the restart, by what goes on", async () => {
        const run = await aRun(stage);
        await live(run, {});
        await stage.clock.set(later);
        await restart(run);
        await live(run, { from: later, turn: 4, children: [aChild("it")] });
        expect(await fork(run, "c")).toMatchObject(isOpen);
      });
    });
  },
  { perTest: true },
);
