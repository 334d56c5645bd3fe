/** The verb cancel: what it answers, whom it refuses, and what it finds a run in. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import {
  aBegunRun,
  aParkedRun,
  aRun,
  aRunAtWork,
  aWaitFor,
  minute,
  noon,
  type Run,
  second,
  soon,
  terms,
  tokenOf,
} from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "a cancel",
  (database) => {
    const stage = stageOn(database);
    type More = Parameters<Run["operate"]>[2];
    const cancel = (run: Run, more?: More) => run.operate(stage.onlooker, "cancel", more);
    const cancelBy = (run: Run) => (session: Session) => run.operate(session, "cancel");
    const closings = (run: Run) =>
      stage.look(
        "select position, value, is_failure from layover.record where run_id = $1 and kind = 'closing' order by position",
        [run.id],
      );
    const operations = (run: Run) =>
      stage.look(
        "select verb, asked_by, reason, verdict::json->>'outcome' as outcome from layover.operation where run_id = $1 order by asked_at, reason",
        [run.id],
      );
    const timeoutOf = async (run: Run) => {
      const [row] = await stage.look(
        "select layover.to_ms(timeout_at)::float8 as at from layover.run_state where run_id = $1",
        [run.id],
      );
      return row?.["at"];
    };
    /** All rows that a cancel could change. */
    const rows = async () => {
      const tables = ["run_state", "record", "pending", "operation"];
      const parts = tables.map((table) => `(select json_agg(t) from layover.${table} t) as ${table}`);
      return (await stage.look(`select ${parts.join(", ")}`))[0];
    };
    const cancelling = (run: Run) => ({ outcome: "cancelling", runId: run.id });

    describe("of a run", () => {
      test("makes it ready and due, and the next claim writes the reason into its history", async () => {
        const run = await aParkedRun(stage, [aWaitFor("address")], { timeoutMs: minute });
        expect(await cancel(run, { reason: "ordered twice" })).toEqual({ ...cancelling(run), turn: 2 });
        expect(await run.state()).toMatchObject({ status: "parked", isReady: true, dueAt: soon });
        expect(await stage.onlooker.call("get_run", { runId: run.id })).toMatchObject({ status: "cancelling" });
        expect(await run.claim(stage.onlooker, { turn: 2, token: "second" })).toMatchObject({
          outcome: "claimed",
          position: 1,
          timeoutAt: noon + 60 * minute,
        });
        expect(await closings(run)).toEqual([{ position: 1, value: "ordered twice", is_failure: true }]);
        expect(await run.pending()).toEqual({});
        const end = { token: "second", position: 1, next: "cancelled" as const, value: "0{}" };
        expect(await run.finish(stage.onlooker, end)).toMatchObject({ outcome: "finished", status: "cancelled" });
      });

      test("has it looked at as early as it was to be, where that is earlier than its own alarm", async () => {
        const run = await aRunAtWork(stage);
        await cancel(run, { armed: [soon + minute] });
        expect(await run.state()).toMatchObject({ dueAt: soon });
      });

      test("without a reason is written without one", async () => {
        const run = await aBegunRun(stage);
        await stage.onlooker.call("cancel_run", { runId: run.id });
        await run.claim(stage.onlooker, { token: "first" });
        expect(await closings(run)).toMatchObject([{ position: 1, value: null }]);
      });

      test("is not written before the record that the run has already, though the clock was set back", async () => {
        const run = await aBegunRun(stage);
        await stage.clock.set(noon - minute);
        await cancel(run, { armed: [noon] });
        expect(await run.claim(stage.onlooker, { token: "first" })).toMatchObject({ position: 1, lastRecordAt: noon });
      });

      test.each(["completed", "failed", "cancelled"] as const)("that is %s is refused", async (next) => {
        const run = await aRunAtWork(stage);
        await run.finish(stage.onlooker, { token: "first", next, value: "0{}" });
        expect(await cancel(run)).toEqual({ outcome: "not_applicable", runId: run.id, status: next });
        expect(await operations(run)).toMatchObject([{ verb: "cancel", outcome: "not_applicable" }]);
      });

      test("whose timeout has passed comes ahead of the timeout that is not written yet", async () => {
        const run = await aBegunRun(stage, { timeoutMs: second });
        await stage.clock.set(noon + 2 * second);
        expect(await cancel(run)).toEqual({ ...cancelling(run), turn: 1 });
        await run.claim(stage.onlooker, { token: "first" });
        expect(await run.kinds()).toEqual(["closing"]);
      });

      test("that cleans up after its timeout is refused", async () => {
        const run = await aBegunRun(stage, { timeoutMs: second });
        await stage.clock.set(noon + 2 * second);
        await run.claim(stage.onlooker, { token: "first" });
        expect(await cancel(run)).toEqual({ outcome: "not_applicable", runId: run.id, status: "cancelling" });
        expect(await run.renew(stage.onlooker, "first")).toMatchObject({ cancel: null });
        expect(await run.kinds()).toEqual(["closing"]);
      });

      test("that is not there, or is another namespace's, is unknown", async () => {
        const run = await aBegunRun(stage);
        expect(await cancel(run, { runId: randomUUID() })).toEqual({ outcome: "unknown" });
        expect(await cancel(run, { namespace: "other" })).toEqual({ outcome: "unknown" });
        expect(await run.claim(stage.onlooker, { token: "first" })).toMatchObject({ outcome: "claimed", position: 0 });
      });

      test.each([
        ["too late", { notAfter: noon - 1 }, "LO002"],
        ["by an address that nobody adopted", { endpoint: "elsewhere" }, "LO010"],
        ["from another environment", { environment: "other" }, "LO010"],
        ["of a process that is not listed", { rings: [randomUUID()] }, "LO011"],
      ])("that comes %s is refused, and changes nothing", async (_, more, code) => {
        const runs = [await aParkedRun(stage, [aWaitFor("address")]), await aRun(stage, { delayMs: minute })];
        const before = await rows();
        for (const { id: runId } of runs) {
          const call = { runId, callId: randomUUID(), armed: [soon], ...more };
          await expect(stage.onlooker.call("cancel_run", call)).rejects.toMatchObject({ code });
        }
        expect(await rows()).toEqual(before);
      });

      test("with a key that was revoked is refused, and with another one it is not", async () => {
        const run = await aBegunRun(stage);
        const [key, other] = [randomUUID(), randomUUID()];
        for (const keyId of [key, other])
          await stage.onlooker.call("create_key", { keyId, name: keyId, scopes: ["operate"] });
        await stage.onlooker.call("revoke_key", { keyId: key });
        const call = { runId: run.id, armed: [soon] };
        await expect(stage.onlooker.call("cancel_run", { ...call, keyId: key })).rejects.toMatchObject({
          code: "LO005",
        });
        expect(await stage.onlooker.call("cancel_run", { ...call, keyId: other })).toMatchObject(cancelling(run));
      });

      test("is refused in a transaction that does not see what others commit meanwhile", async () => {
        const run = await aBegunRun(stage);
        const session = await stage.session("strict");
        await session.begin("repeatable read");
        await expect(cancelBy(run)(session)).rejects.toMatchObject({ code: "LO001" });
      });
    });

    describe("that comes again", () => {
      test("as the same call is told the same, and does nothing, not even once the run is over", async () => {
        const run = await aBegunRun(stage);
        const callId = randomUUID();
        await cancel(run, { callId });
        const before = await rows();
        expect(await cancel(run, { callId, reason: "another" })).toEqual({ ...cancelling(run), turn: 1 });
        expect(await rows()).toEqual(before);
        await run.claim(stage.onlooker, { token: "first" });
        await run.finish(stage.onlooker, { token: "first", position: 1, next: "cancelled", value: "0{}" });
        expect(await cancel(run, { callId })).toEqual(cancelling(run));
        expect(await operations(run)).toHaveLength(1);
      });

      test("as the same call, that waits for the first one's lock, is told the same", async () => {
        const run = await aBegunRun(stage);
        const call = (session: Session) => run.operate(session, "cancel", { callId: tokenOf("call") });
        const [told, again] = await stage.collide({ first: call, second: call });
        expect([told, again]).toEqual(Array(2).fill({ ...cancelling(run), turn: 1 }));
        expect(await operations(run)).toHaveLength(1);
      });

      test("as another call is told the same, is kept, and the first reason wins", async () => {
        const run = await aBegunRun(stage);
        const ask = (reason: string) => (session: Session) => run.operate(session, "cancel", { reason });
        const [, second] = await stage.collide({ first: ask("a first"), second: ask("b second") });
        expect(second).toEqual(cancelling(run));
        await run.claim(stage.onlooker, { token: "first" });
        expect(await cancel(run, { reason: "c third", by: "bob" })).toEqual(cancelling(run));
        expect(await closings(run)).toMatchObject([{ value: "a first" }]);
        expect(await operations(run)).toMatchObject([
          { verb: "cancel", asked_by: "ada", reason: "a first", outcome: "cancelling" },
          { verb: "cancel", asked_by: "ada", reason: "b second", outcome: "cancelling" },
          { verb: "cancel", asked_by: "bob", reason: "c third", outcome: "cancelling" },
        ]);
      });

      test("does not give the cleanups more time, and is not told to those at work", async () => {
        const run = await aBegunRun(stage);
        await cancel(run);
        await run.claim(stage.onlooker, { token: "first" });
        await stage.clock.advance(second);
        await cancel(run);
        expect(await timeoutOf(run)).toBe(noon + 60 * minute);
        expect(await run.renew(stage.onlooker, "first")).toMatchObject({ cancel: null });
        expect(await run.kinds()).toEqual(["closing"]);
      });

      test("is refused once the run has a thousand operations, but the first cancel never is", async () => {
        const [run, other] = [await aBegunRun(stage), await aBegunRun(stage)];
        await cancel(other);
        await stage.onlooker.query(
          `insert into layover.operation (run_id, call_id, verb, asked_at, verdict)
             select $1, gen_random_uuid(), 'pause', layover.now(), '{}' from generate_series(1, 1000)`,
          [run.id],
        );
        expect(await cancel(run)).toMatchObject(cancelling(run));
        const before = await rows();
        await expect(cancel(run)).rejects.toMatchObject({ code: "LO012" });
        expect(await rows()).toEqual(before);
        expect(await cancel(other)).toEqual(cancelling(other));
        expect(await run.claim(stage.onlooker, { token: "first" })).toMatchObject({ outcome: "claimed", position: 1 });
        expect(await run.operate(stage.onlooker, "terminate")).toMatchObject({ outcome: "terminated" });
      });
    });

    describe("and a pause", () => {
      const pauseBy = (run: Run) => (session: Session) => run.operate(session, "pause");
      const refused = (run: Run) => ({ outcome: "not_applicable", runId: run.id, status: "cancelling" });

      test("that came before: the run is not paused any more", async () => {
        const run = await aBegunRun(stage);
        const [, told] = await stage.collide({ first: pauseBy(run), second: cancelBy(run) });
        expect(told).toEqual({ ...cancelling(run), turn: 1 });
        expect(await run.state()).toMatchObject({ isReady: true, dueAt: soon });
        expect(await run.operate(stage.onlooker, "resume")).toEqual(refused(run));
        expect(await run.claim(stage.onlooker, { token: "first" })).toMatchObject({ outcome: "claimed", position: 1 });
      });

      test("that comes after, before and after the cancel is written: the pause is refused", async () => {
        const run = await aBegunRun(stage);
        const [, told] = await stage.collide({ first: cancelBy(run), second: pauseBy(run) });
        expect(told).toEqual(refused(run));
        expect(await run.claim(stage.onlooker, { token: "first" })).toMatchObject({ outcome: "claimed", position: 1 });
        expect(await pauseBy(run)(stage.onlooker)).toEqual(refused(run));
      });
    });

    describe("of a run that does not get on", () => {
      test("that is blocked: it is not blocked any more", async () => {
        const run = await aRunAtWork(stage);
        await run.finish(stage.onlooker, { token: "first", next: "blocked", value: "0no" });
        expect(await cancel(run)).toEqual({ ...cancelling(run), turn: 2 });
        expect(await run.state()).toMatchObject({ blocked: null, isReady: true, dueAt: soon });
        await run.claim(stage.onlooker, { turn: 2, token: "second" });
        expect(await run.kinds()).toEqual(["closing"]);
      });

      test("that the only deployment has refused: that one may try it again", async () => {
        const run = await aBegunRun(stage);
        const deployed = { ...terms, deployment: "green" };
        await stage.onlooker.query(
          `update layover.run_state set refused_by = '{"green": {"at": 1, "why": "no"}}' where run_id = $1`,
          [run.id],
        );
        const claim = async () =>
          (await stage.onlooker.call("claim_turns", { ...deployed, turns: [run.toClaim({ token: "first" })] })).turns;
        expect(await claim()).toEqual([{ outcome: "not_here" }]);
        await cancel(run);
        expect(await claim()).toMatchObject([{ outcome: "claimed", position: 1 }]);
      });

      test("that is to be tried again later: it is claimed now", async () => {
        const run = await aRunAtWork(stage);
        await run.finish(stage.onlooker, { token: "first", setback: "slow" });
        expect(await run.state()).toMatchObject({ isReady: false });
        expect(await cancel(run)).toEqual({ ...cancelling(run), turn: 2 });
        expect(await run.claim(stage.onlooker, { turn: 2, token: "second" })).toMatchObject({ position: 1 });
      });

      test("whose process is lost: it is claimed at once", async () => {
        const run = await aRunAtWork(stage);
        await stage.clock.set(noon + minute);
        expect(await cancel(run)).toEqual({ ...cancelling(run), turn: 1 });
        expect(await run.claim(stage.onlooker, { token: "again" })).toMatchObject({ outcome: "claimed", position: 1 });
      });
    });
  },
  { perTest: true },
);
