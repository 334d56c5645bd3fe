/** The claim that finds a run beyond its timeout, or its cancel asked for, writes so into its history, once nobody is at work for it. */
import { beforeEach, describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { type Columns, rowsOn } from "./rows.ts";
import { aParkedRun, aRunAtWork, aWaitFor, minute, noon, type Run, second, tokenOf } from "./runs.ts";
import { stageOn } from "./stage.ts";
import { aClose } from "./undoing.ts";

describeSomePostgres(
  "the claim that closes a run",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "due may be early, never late (by more than two minutes)",
        "what is not over, paused or blocked and needs to be looked at has a due instant",
        "positions are dense from 1, and last_position is the last",
        "a map counts the branches that it waits for",
        "nothing is left of a run that is gone",
        "no record is older than the one ahead of it",
        "a run that has closed, or ends, has nothing to wait for",
        "a parked run is ready from its cancel, its timeout or the end of its cleanups' hour on",
      ],
    });
    const { wait, write, set, state } = rowsOn(stage);
    const at = (ms: number) => `layover.now() + interval '${ms} ms'`;
    const lease = (until: string): Columns => ({ token: "gen_random_uuid()", leased_until: until });
    const take = (run: Run) => run.claim(stage.onlooker, { token: "next", turn: 2 });

    beforeEach(async () => {
      await stage.onlooker.query("set statement_timeout = '5s'");
    });

    const records = async (run: Run) =>
      stage.look(
        "select epoch, position, kind, path, occurrence, is_failure, layover.to_ms(recorded_at)::float8 as at, value, attempts from layover.record where run_id = $1",
        [run.id],
      );
    const written = { epoch: 0, position: 1, path: "", occurrence: 1, is_failure: true };
    const place =
      "last_position, cancelled_position, layover.to_ms(last_record_at)::float8 as at, layover.to_ms(timeout_at)::float8 as timeout";
    const twoThatWait = async () => {
      const runs = [await aParkedRun(stage, [aWaitFor("go")]), await aParkedRun(stage, [aWaitFor("go")])] as const;
      for (const run of runs) await write("map", run, { path: "'all'", counted: "0", fails_fast: "false" });
      return runs;
    };

    test("writes of its timeout, releases what it waits for, and leaves every other run", async () => {
      const [other, run] = await twoThatWait();
      await stage.onlooker.query("update layover.run set workflow = 'other' where id = $1", [other.id]);
      await set(run, `timeout_at = layover.now(), last_record_at = ${at(second)}`);
      expect(await take(run)).toMatchObject({ outcome: "claimed" });
      expect(await records(run)).toEqual([
        { ...written, kind: "closing", at: noon + second, value: "timeout", attempts: 1 },
      ]);
      expect(await state(run, place)).toEqual({
        last_position: 1,
        cancelled_position: 1,
        at: noon + second,
        timeout: noon + 60 * minute,
      });
      expect(await state(run, `cancel_reason, layover.to_ms(cancel_requested_at)::float8 as asked, ends_as`)).toEqual({
        cancel_reason: "timeout",
        asked: noon,
        ends_as: { next: "failed", value: expect.stringMatching(/"code": "run_timeout".*flow/) },
      });
      expect(await run.pending()).toEqual({});
      expect(await stage.look("select from layover.map where run_id = $1", [run.id])).toEqual([]);
      expect(await records(other)).toEqual([]);
      expect(await other.pending()).toMatchObject({ go: { isReleased: false } });
      expect(await stage.look("select from layover.map where run_id = $1", [other.id])).toHaveLength(1);
      expect(await state(other, place)).toMatchObject({ last_position: 0, cancelled_position: null });
    });

    test("writes of its cancel, and gives its cleanups an hour", async () => {
      const [run] = await twoThatWait();
      await set(
        run,
        `cancel_requested_at = layover.now(), cancel_reason = 'enough', is_interrupted = true, timeout_at = ${at(minute)}`,
      );
      expect(await take(run)).toMatchObject({ outcome: "claimed" });
      expect(await records(run)).toEqual([{ ...written, kind: "closing", at: noon, value: "enough", attempts: 2 }]);
      expect(await state(run, place)).toEqual({
        last_position: 1,
        cancelled_position: 1,
        at: noon,
        timeout: noon + 60 * minute,
      });
      const [kept] = await stage.look("select timeout_ms::float8 from layover.run where id = $1", [run.id]);
      expect(kept).toEqual({ timeout_ms: minute });
    });

    test("writes of the end of that hour, and remembers where it was cancelled", async () => {
      const [run] = await twoThatWait();
      await set(
        run,
        "cancel_requested_at = layover.now(), cancelled_position = 0, timeout_at = layover.now(), cancel_reason = 'enough'",
      );
      await stage.onlooker.query("update layover.pending set is_shielded = true");
      await take(run);
      expect(await records(run)).toMatchObject([{ kind: "closing" }]);
      expect(await state(run, place)).toEqual({ last_position: 1, cancelled_position: 0, at: noon, timeout: null });
      expect(await run.pending()).toEqual({});
    });

    test.each([
      ["while the run is undone", "ending_position = 0, undos = 1"],
      ["that an earlier release has recorded", "cancelled_position = 0"],
    ])("writes of no timeout %s", async (_, changes) => {
      const [run] = await twoThatWait();
      await set(run, `${changes}, timeout_at = layover.now(), ready_at = 'epoch'`);
      expect(await take(run)).toMatchObject({ outcome: "claimed" });
      expect(await records(run)).toEqual([]);
    });

    test("writes that a step may have begun before it, where its turn has lost a lease", async () => {
      const run = await aRunAtWork(stage);
      await stage.clock.advance(minute);
      await set(run, "timeout_at = layover.now()");
      await run.claim(stage.onlooker, { token: "next" });
      expect(await records(run)).toMatchObject([{ kind: "closing", attempts: 2 }]);
    });

    test("leaves its cleanups at its timeout", async () => {
      const [run] = await twoThatWait();
      await set(run, "cancel_requested_at = layover.now()");
      await stage.onlooker.query("update layover.pending set is_shielded = true");
      await take(run);
      expect(await run.pending()).toMatchObject({ go: { isReleased: false } });
    });

    test("writes how long it may take, where that is its timeout", async () => {
      const [run] = await twoThatWait();
      await set(run, `timeout_at = ${at(minute)}`);
      await stage.clock.advance(minute);
      await take(run);
      const [kept] = await stage.look("select timeout_ms::float8 from layover.run where id = $1", [run.id]);
      expect(kept).toEqual({ timeout_ms: minute });
    });

    test("waits for nobody who holds what another run waits for", async () => {
      const [run, other] = await twoThatWait();
      await set(run, "timeout_at = layover.now()");
      await stage.hold("select from layover.pending where run_id = $1 for update", [other.id]);
      expect(await take(run)).toMatchObject({ outcome: "claimed" });
    });

    describe("waits until", () => {
      const timeout = "timeout_at = layover.now()";
      const late = "cancel_requested_at = layover.now(), cancelled_position = 0, timeout_at = layover.now()";
      const closing = "is_closing = true, ready_at = 'epoch'";
      const cancelled: Columns = {
        child_bond: "'cancelled'",
        child_run_id: "gen_random_uuid()",
        is_released: "true",
        until: at(2),
      };
      test.each<readonly [what: string, change: string, kind: string, more: Columns, readyAt: number | undefined]>([
        ["a branch has come to its end", timeout, "branch", lease(at(1)), noon + 1],
        ["no branch whose lease is over", timeout, "branch", lease("layover.now()"), undefined],
        ["no cleanup at its timeout", timeout, "branch", { ...lease(at(1)), is_shielded: "true" }, undefined],
        ["a cleanup at the end of its hour", late, "branch", { ...lease(at(1)), is_shielded: "true" }, noon + 1],
        ["a cleanup as it closes", closing, "branch", { ...lease(at(1)), is_shielded: "true" }, noon + 1],
        ["a run that it has cancelled as it closes", closing, "child", cancelled, noon + 2],
        ["no run whose time is over", closing, "child", { ...cancelled, until: "layover.now()" }, undefined],
        [
          "no run that it has not cancelled",
          closing,
          "child",
          { ...cancelled, child_bond: "null", is_released: "false" },
          undefined,
        ],
        ["no run at its timeout", timeout, "child", cancelled, undefined],
      ])("%s", async (_, change, kind, more, readyAt) => {
        const run = await aParkedRun(stage, []);
        await set(run, `${change}, has_pending = true`);
        await wait(run, kind, more);
        const told = await take(run);
        expect(told).toMatchObject(readyAt === undefined ? { outcome: "claimed" } : { outcome: "not_ready", readyAt });
      });

      test("the last of several has come to its end, and no other run's", async () => {
        const [run, other] = [await aParkedRun(stage, []), await aParkedRun(stage, [])];
        await set(run, `${timeout}, has_pending = true`);
        for (const [index, ms] of [5, 9, 7].entries())
          await wait(run, "branch", { ...lease(at(ms)), occurrence: `${index + 1}` });
        await wait(other, "branch", lease(at(20)));
        expect(await take(run)).toMatchObject({ outcome: "not_ready", readyAt: noon + 9 });
      });

      test("the last of its cancelled runs has ended", async () => {
        const run = await aParkedRun(stage, []);
        await set(run, `${closing}, has_pending = true`);
        for (const [index, ms] of [5, 9, 7].entries())
          await wait(run, "child", { ...cancelled, until: at(ms), occurrence: `${index + 1}` });
        expect(await take(run)).toMatchObject({ outcome: "not_ready", readyAt: noon + 9 });
      });

      test("its cancelled runs have had a day, and gives up those that have not ended", async () => {
        const [run, other] = [await aParkedRun(stage, []), await aParkedRun(stage, [])];
        for (const one of [run, other]) {
          await set(one, `${closing}, has_pending = true`);
          await wait(one, "child", { ...cancelled, until: at(2), occurrence: one === run ? "1" : "4" });
        }
        await wait(run, "child", { ...cancelled, until: at(1), occurrence: "2", child_status: "'completed'" });
        await wait(run, "child", { ...cancelled, until: at(1), occurrence: "3", child_bond: "null" });
        expect(await take(run)).toMatchObject({ outcome: "not_ready" });
        expect(await stage.look("select from layover.attempt")).toEqual([]);
        await stage.clock.advance(2);
        for (const token of ["next", "again"]) {
          await run.claim(stage.onlooker, { token, turn: 2 });
          expect(
            await stage.look(
              "select run_id, occurrence, number, (extract(epoch from ended_at - began_at) * 1000)::float8 as took, error from layover.attempt",
            ),
          ).toEqual([
            {
              run_id: run.id,
              occurrence: 1,
              number: 1,
              took: 24 * 60 * minute,
              error: expect.stringContaining("given_up"),
            },
          ]);
          await stage.onlooker.call("return_leases", { turns: [{ runId: run.id, token: tokenOf(token) }] });
        }
      });

      test("it closes before it gives up any", async () => {
        const run = await aParkedRun(stage, []);
        await set(run, `${timeout}, has_pending = true`);
        await wait(run, "child", cancelled);
        expect(await take(run)).toMatchObject({ outcome: "claimed" });
        expect(await stage.look("select from layover.attempt")).toEqual([]);
      });

      test("its cancelled runs have ended, and is ready then", async () => {
        const [run, other] = [await aParkedRun(stage, []), await aParkedRun(stage, [])];
        for (const one of [run, other]) await set(one, `${closing}, has_pending = true`);
        await wait(run, "child", cancelled);
        await take(run);
        const ready = "layover.to_ms(ready_at)::float8 as ready";
        expect([await state(run, ready), await state(other, ready)]).toEqual([{ ready: noon + 2 }, { ready: 0 }]);
      });
    });

    test("is preceded by a finish that leaves who is at work to no map", async () => {
      const [run, other] = [await aRunAtWork(stage), await aRunAtWork(stage)];
      for (const one of [run, other]) {
        await set(one, "has_pending = true");
        await write("map", one, { path: "'all'", counted: "1", fails_fast: "false" });
        await wait(one, "branch", { map: "'all'", is_counted: "true", ...lease(at(1)) });
      }
      await stage.hold("select from layover.pending where run_id = $1 for update", [other.id]);
      await run.finish(stage.onlooker, aClose());
      const rows = ({ id }: Run) =>
        stage.look("select map, is_counted, is_queued, is_released from layover.pending where run_id = $1", [id]);
      expect(await rows(run)).toEqual([{ map: null, is_counted: false, is_queued: false, is_released: true }]);
      expect(await rows(other)).toEqual([{ map: "all", is_counted: true, is_queued: false, is_released: false }]);
      expect(await stage.look("select run_id from layover.map")).toEqual([{ run_id: other.id }]);
    });
  },
  { perTest: true },
);
