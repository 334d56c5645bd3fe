/** A finish moves its own run, and tells and keeps all that hangs on it: what came meanwhile, and what others still hold. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { rowsOn } from "./rows.ts";
import {
  aDemand,
  aFanOut,
  aMap,
  aParkedRun,
  aRecord,
  aRunAtWork,
  branches,
  minute,
  noon,
  type Run,
  second,
  terms,
} from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const hour = 60 * minute;

describeSomePostgres(
  "the finish",
  (database) => {
    const stage = stageOn(database);
    const { set } = rowsOn(stage);
    const look = async (what: string, table: string, { id }: Run) =>
      await stage.look(`select ${what} from layover.${table} where run_id = $1`, [id]);
    const finishTurns = async (...turns: readonly object[]) =>
      (await stage.onlooker.call("finish_turns", { ...terms, turns })).turns;

    describe("of a run", () => {
      const claim = { token: "second", turn: 2, have: { epoch: 0, position: 1 } };

      test("that parks claims no next turn, though it brings a claim along", async () => {
        const run = await aRunAtWork(stage);
        const demands = [aDemand("sleep", "nap", { until: noon + hour })];
        const answer = await run.finish(stage.onlooker, { token: "first", demands, claim });
        expect(answer).toMatchObject({ outcome: "finished", isReady: false, readyAt: noon + hour });
        expect(answer).not.toHaveProperty("claim");
        expect(await run.state()).toMatchObject({ status: "parked", token: null });
      });

      test.each([false, true])(
        "takes the signal that it recorded, where it simply goes on (claiming: %s)",
        async (claims) => {
          const run = await aRunAtWork(stage);
          await run.signal(stage.onlooker, "address");
          const [row] = await look("number::integer", "signal", run);
          const records = [aRecord("signal", "address", { value: '0"here"', signal: Number(row?.["number"]) })];
          await run.finish(stage.onlooker, { token: "first", next: "ready", records, ...(claims && { claim }) });
          expect(await look("position", "signal", run)).toEqual([{ position: 1 }]);
          const next = { token: "second", turn: 2 };
          expect(await run.claim(stage.onlooker, next)).toMatchObject({ outcome: "claimed", signals: null });
        },
      );

      test("counts the bytes of its history", async () => {
        const run = await aRunAtWork(stage);
        await run.finish(stage.onlooker, { token: "first", next: "ready", records: [aRecord("step", "a")], bytes: 7 });
        await run.claim(stage.onlooker, claim);
        const records = [aRecord("step", "b")];
        await run.finish(stage.onlooker, { token: "second", position: 1, next: "ready", records, bytes: 5 });
        expect(await look("history_bytes", "run_state", run)).toEqual([{ history_bytes: 12 }]);
      });

      test("moves no other run, though its token is the same", async () => {
        const [other, run] = [await aRunAtWork(stage), await aRunAtWork(stage)];
        const records = [aRecord("step", "a")];
        await run.finish(stage.onlooker, { token: "first", next: "ready", records });
        expect(await run.state()).toMatchObject({ status: "parked", turn: 2, lastPosition: 1 });
        expect(await other.state()).toMatchObject({ status: "running", turn: 1, lastPosition: 0 });
      });

      test("keeps the count of its dispatches while it is paused, though it brings a claim along", async () => {
        const run = await aRunAtWork(stage);
        await set(run, "paused_at = layover.now(), due_at = null, dispatches = 3");
        await run.finish(stage.onlooker, { token: "first", next: "ready", records: [aRecord("step", "a")], claim });
        expect(await run.state()).toMatchObject({ status: "parked", dispatches: 3 });
      });

      describe("that one of its branches has blocked", () => {
        const aBlockedRun = async () => {
          const run = await aFanOut(stage, ["a", "b"]);
          await set(run, "ready_at = layover.now()");
          await run.claim(stage.onlooker, { token: "second", turn: 2 });
          await run.finishBranch(stage.onlooker, "a", { token: "a", blocked: "why" });
          return run;
        };

        test.each(["ready", "parked"] as const)("leaves it blocked, and tells nobody to go on: %s", async (next) => {
          const run = await aBlockedRun();
          const answer = await run.finish(stage.onlooker, { token: "second", next });
          expect(answer).toMatchObject({ outcome: "finished", isReady: false });
          expect(await run.state()).toMatchObject({ status: "parked", blocked: "why", dueAt: null });
        });

        test("ends it", async () => {
          const run = await aBlockedRun();
          await run.finish(stage.onlooker, { token: "second", next: "completed", value: "0null" });
          expect(await run.state()).toMatchObject({ status: "completed", blocked: null });
        });
      });

      describe("that ends", () => {
        const end = (run: Run) => (session: Session) =>
          run.finish(session, { token: "second", position: 1, next: "completed", value: "0null" });
        const aMapToEnd = async () => {
          const run = await aMap(stage, ["all/a", "all/b"]);
          await run.finishBranch(stage.onlooker, "all/a", { token: "all/a" });
          await set(run, "ready_at = layover.now()");
          await run.claim(stage.onlooker, { token: "second", turn: 2 });
          return run;
        };

        test("leaves nothing to wait for, and to another run all that it waits for", async () => {
          const [run, other] = [await aMapToEnd(), await aMapToEnd()];
          const before = [await other.pending(), await look("path, counted", "map", other)];
          expect(await end(run)(stage.onlooker)).toMatchObject({ outcome: "finished", status: "completed" });
          expect([await run.pending(), await look("path, counted", "map", run)]).toEqual([{}, []]);
          expect([await other.pending(), await look("path, counted", "map", other)]).toEqual(before);
        });

        test("waits for no branch of another run", async () => {
          const [run, other] = [await aMapToEnd(), await aMapToEnd()];
          await stage.hold("select from layover.pending where run_id = $1 for update", [other.id]);
          expect(await end(run)(stage.onlooker)).toMatchObject({ outcome: "finished", status: "completed" });
        });
      });

      test("whose race is decided leaves nothing of losers that nobody works at", async () => {
        const run = await aParkedRun(stage, branches(["race/a", "race/b", "race/c", "race/d"]));
        for (const path of ["race/a", "race/b"]) await run.claimBranch(stage.onlooker, path, { token: path });
        await stage.clock.advance(2 * minute);
        await run.claimBranch(stage.onlooker, "race/c", { token: "race/c" });
        await run.finishBranch(stage.onlooker, "race/a", { token: "race/a" });
        await run.claim(stage.onlooker, { token: "second", turn: 2 });
        const released = [{ prefix: "race/", position: 1 }];
        await run.finish(stage.onlooker, { token: "second", position: 1, released });
        expect(await run.pending()).toMatchObject({ "race/c": { isReleased: true } });
        expect(Object.keys(await run.pending())).toEqual(["race/c"]);
      });

      test("that times out a callback notes when, though it was answered: the code of an earlier release may", async () => {
        const run = await aRunAtWork(stage);
        await run.answer(stage.onlooker, "approval");
        const { value: _, ...timedOut } = aRecord("callback", "approval", { at: noon + second });
        await run.finish(stage.onlooker, { token: "first", next: "ready", records: [timedOut] });
        expect(await look("outcome, layover.to_ms(answered_at)::float8 as at, position", "callback", run)).toEqual([
          { outcome: "expired", at: noon + second, position: 1 },
        ]);
      });
    });

    test("of several runs that time out their callbacks notes each of them", async () => {
      const runs = [await aRunAtWork(stage), await aRunAtWork(stage)];
      const { value: _, ...timedOut } = aRecord("callback", "approval");
      await finishTurns(...runs.map((run) => run.toFinish({ token: "first", next: "ready", records: [timedOut] })));
      for (const run of runs) expect(await look("outcome", "callback", run)).toEqual([{ outcome: "expired" }]);
    });

    test("of several turns, one of which names no run that there could be, is refused as a whole", async () => {
      const run = await aRunAtWork(stage);
      const turn = run.toFinish({ token: "first", next: "ready" });
      await expect(finishTurns(turn, { ...turn, runId: "none" })).rejects.toMatchObject({ code: "22P02" });
      expect(await run.state()).toMatchObject({ status: "running" });
    });
  },
  { perTest: true },
);
