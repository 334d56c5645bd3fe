/** Acts on many runs: which runs are meant, in what order they are locked, and what comes twice or meanwhile. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { OperateRunsAnswer, OperateRunsCall } from "../../src/postgres/wire-operations.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import { aParkedRun, aRun, aRunAtWork, aWaitFor, branches, noon, type Run, soon } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "an act on many runs",
  (database) => {
    const stage = stageOn(database);
    const idOf = (n: number) => `019b799c-f200-7000-8000-00000000000${n}`;
    /** Later than any run of a test that does not turn the clock. */
    const callId = "019b799d-0000-7000-8000-0000000000ff";
    const flow = { workflow: "flow" };
    const hourMs = 3_600_000;

    interface More extends Partial<Omit<OperateRunsCall, "callId" | "walk">> {
      readonly walk?: number | undefined;
      readonly callId?: string | undefined;
      readonly namespace?: string;
      readonly notAfter?: number;
    }
    const operate = (by: Session, more: More = {}): Promise<OperateRunsAnswer> =>
      by.call("operate_runs", { verb: "pause", filter: flow, callId, limit: 10, walk: 100, armed: [soon], ...more });
    const numbersOf = (column: string) => async () =>
      (await stage.look(`select run_id from layover.run_state where ${column} is not null order by run_id`)).map(
        ({ run_id }) => Number(String(run_id).at(-1)),
      );
    const paused = numbersOf("paused_at");
    const operations = async () =>
      (await stage.look("select run_id, call_id, verb, verdict from layover.operation order by run_id, asked_at")).map(
        (row) => [Number(String(row["run_id"]).at(-1)), row["verb"], JSON.parse(String(row["verdict"])).outcome],
      );
    const start = async (...numbers: readonly number[]) => {
      const runs: Run[] = [];
      for (const n of numbers) runs.push(await aRun(stage, { runId: idOf(n) }));
      return runs;
    };

    test("is done page by page, newest first, to each run once, and each keeps it under the id of the whole", async () => {
      await start(1, 2, 3, 4, 5);
      const first = await operate(stage.onlooker, { limit: 2 });
      expect(first).toMatchObject({ callId, runs: 2, next: idOf(4), outcomes: { paused: 2 }, refused: [], turns: [] });
      expect(await paused()).toEqual([4, 5]);
      expect(await operate(stage.onlooker, { limit: 2, before: idOf(4) })).toMatchObject({ runs: 2, next: idOf(2) });
      const last = await operate(stage.onlooker, { limit: 2, before: idOf(2) });
      expect(last).toMatchObject({ runs: 1, next: null, outcomes: { paused: 1 } });
      expect(await operations()).toEqual([1, 2, 3, 4, 5].map((n) => [n, "pause", "paused"]));
      expect(await stage.look("select distinct call_id from layover.operation")).toEqual([{ call_id: callId }]);
    });

    test("looks at two thousand runs a page where nobody says how many", async () => {
      await stage.onlooker.query(
        `with made as (
           insert into layover.run (id, namespace, workflow, version, input, is_input_parsed, created_at)
             select layover.new_id(), 'default', 'flow', 2, '0null', true, layover.now() from generate_series(1, 2001) returning id
         ) insert into layover.run_state (run_id, namespace, status, last_record_at, paused_at)
             select m.id, 'default', 'parked', layover.now(), layover.now() from made m`,
      );
      const look = { dryRun: true, filter: { workflow: "flow", version: 9 } };
      expect(await operate(stage.onlooker, { ...look, walk: undefined })).toMatchObject({
        runs: 0,
        next: expect.any(String),
      });
      expect(await operate(stage.onlooker, { ...look, walk: 3_000 })).toMatchObject({ runs: 0, next: null });
    });

    test.each([
      ["cancel", {}, [2, 1, 2]],
      ["terminate", {}, [2, 1, 2]],
      ["restart", { filter: { ...flow, status: "cancelled" } }, [2, 1, 2]],
      ["delete", { cancels: true }, [2, 1, 2]],
      ["delete", {}, [5]],
      ["pause", {}, [5]],
    ] as const)(
      "takes few runs a page that have started many others, if it may end these: %s, %j",
      async (verb, more, pages) => {
        const runs = await start(1, 2, 3, 4, 5);
        if (verb === "restart" || verb === "delete")
          for (const run of runs) await run.operate(stage.onlooker, "terminate");
        const children = "('{1, 1, 10001, 6000, 4000}'::integer[])[right(run_id::text, 1)::integer]";
        await stage.onlooker.query(`update layover.run_state set children = ${children}`);
        const told = [];
        const asked = { verb, callId: "019b799d-0000-7000-8000-0000000000fe", ...more };
        for (let page = {}; ; ) {
          const dry = await operate(stage.onlooker, { ...asked, ...page, dryRun: true });
          const { runs, next } = await operate(stage.onlooker, { ...asked, ...page });
          expect(dry).toMatchObject({ runs, next });
          told.push(runs);
          if (next === null) break;
          page = { before: next };
        }
        expect(told).toEqual(pages);
      },
    );

    test("does nothing twice where a page comes again", async () => {
      const [run] = await start(1, 2);
      await operate(stage.onlooker);
      await run?.operate(stage.onlooker, "resume");
      expect(await operate(stage.onlooker)).toMatchObject({ runs: 2, outcomes: { paused: 2 } });
      expect(await paused()).toEqual([2]);
      expect(await operations()).toHaveLength(3);
    });

    test("leaves out runs that were created after it began, also on its first page", async () => {
      await start(1);
      const told = await operate(stage.onlooker, { dryRun: true, callId: undefined });
      expect(told).toMatchObject({ runs: 1, statuses: { queued: 1 }, runIds: [idOf(1)], next: null });
      await stage.clock.set(noon + 1);
      await start(2);
      expect(await operate(stage.onlooker, { callId: told.callId })).toMatchObject({ runs: 1 });
      expect(await paused()).toEqual([1]);
    });

    test("leaves out runs that are over, of other namespaces and that do not fit, and resumes only those that are paused", async () => {
      const [one, two] = await start(1, 2, 3, 4);
      await one?.operate(stage.onlooker, "terminate");
      await two?.operate(stage.onlooker, "pause");
      await stage.onlooker.query("update layover.run set workflow = 'other' where id = $1", [idOf(4)]);
      const before = (await operations()).length;
      expect(await operate(stage.onlooker, { verb: "resume" })).toMatchObject({ runs: 1, outcomes: { resumed: 1 } });
      expect(await operate(stage.onlooker, { namespace: "other" })).toMatchObject({ runs: 0 });
      const next = "019b799d-0000-7000-8000-0000000000fe";
      expect(await operate(stage.onlooker, { verb: "terminate", callId: next })).toMatchObject({ runs: 2 });
      expect((await operations()).length).toBe(before + 3);
      const [row] = await stage.look("select status from layover.run_state where run_id = $1", [idOf(4)]);
      expect(row).toEqual({ status: "parked" });
    });

    test("tells what may be claimed at once, of runs and of branches", async () => {
      const parked = await aParkedRun(stage, [aWaitFor("go")]);
      const fan = await aParkedRun(stage, branches(["a", "b"]));
      const ready = await aRun(stage);
      await operate(stage.onlooker);
      const {
        turns,
        branches: rows,
        outcomes,
      } = await operate(stage.onlooker, {
        verb: "resume",
        callId: "019b799d-0000-7000-8000-0000000000fe",
      });
      expect(outcomes).toEqual({ resumed: 3 });
      expect(turns).toEqual([{ runId: ready.id, turn: 1 }]);
      expect(rows).toEqual(["a", "b"].map((path) => ({ runId: fan.id, path, occurrence: 1, turn: 1 })));
      expect((await parked.state())["dueAt"]).toBe(soon);
    });

    test("tells of refused runs why, how many they are, and the first ten", async () => {
      for (let n = 10; n < 22; n += 1) {
        const run = await aRunAtWork(stage, { runId: `019b799c-f200-7000-8000-0000000000${n}` });
        await run.operate(stage.onlooker, "cancel");
      }
      await start(1);
      const { outcomes, refused } = await operate(stage.onlooker, { limit: 100 });
      expect(outcomes).toEqual({ paused: 1 });
      const firstTen = Array.from({ length: 10 }, (_, n) => `019b799c-f200-7000-8000-0000000000${n + 10}`);
      expect(refused).toEqual([{ code: "not_applicable", runs: 12, runIds: firstTen }]);
    });

    test("refuses a run that has too many operations by itself, and does it to the others", async () => {
      await start(1, 2, 3, 4, 5);
      await stage.onlooker.query(
        `insert into layover.operation (run_id, call_id, verb, asked_at, verdict)
           select $1, gen_random_uuid(), 'pause', layover.now(), '{}' from generate_series(1, 1000)`,
        [idOf(4)],
      );
      expect(await operate(stage.onlooker)).toMatchObject({
        outcomes: { paused: 4 },
        refused: [{ code: "too_many_operations", runs: 1, runIds: [idOf(4)] }],
      });
      expect(await paused()).toEqual([1, 2, 3, 5]);
    });

    test("locks the runs in the order of their ids", async () => {
      await start(1, 2, 3);
      const holder = await stage.hold("select from layover.run_state where run_id = $1 for update", [idOf(1)]);
      const session = await stage.session("many");
      const told = operate(session);
      await session.untilBlocked(holder);
      await stage.onlooker.query("set lock_timeout = '2s'");
      await stage.onlooker.query("select from layover.run_state where run_id = $1 for update", [idOf(3)]);
      await holder.commit();
      expect(await told).toMatchObject({ outcomes: { paused: 3 } });
    });

    test("restarts runs with their families locked in the order of ids, whatever the order of the runs", async () => {
      const [one, two] = await start(1, 2);
      for (const run of [one, two]) await run?.operate(stage.onlooker, "terminate");
      const holder = await stage.hold("select from layover.run_state where run_id = $1 for update", [idOf(1)]);
      const session = await stage.session("many");
      const told = operate(session, { verb: "restart", filter: { status: "cancelled" } });
      await session.untilBlocked(holder);
      await stage.onlooker.query("set lock_timeout = '2s'");
      await stage.onlooker.query("select from layover.run_state where run_id = $1 for update", [idOf(2)]);
      await holder.commit();
      expect(await told).toMatchObject({ outcomes: { restarted: 2 } });
    });

    test("counts no run that is pruned while it waits", async () => {
      await start(1, 2);
      const holder = await stage.hold("select layover.delete_rows($1)", [idOf(1)]);
      const session = await stage.session("many");
      const told = operate(session);
      await session.untilBlocked(holder);
      await holder.commit();
      const { outcomes, refused } = await told;
      expect([outcomes, refused]).toEqual([{ paused: 1 }, []]);
    });

    test("has no effect where it comes too late, however few runs fit", async () => {
      const late = { notAfter: noon - 1 };
      await expect(operate(stage.onlooker, late)).rejects.toMatchObject({ code: "LO002" });
      await start(1);
      await expect(operate(stage.onlooker, late)).rejects.toMatchObject({ code: "LO002" });
      expect(await paused()).toEqual([]);
    });

    test("changes nothing in a dry run, and tells the statuses and the first ten ids", async () => {
      const [one] = await start(1, 2, 3);
      await one?.operate(stage.onlooker, "pause");
      expect(await operate(stage.onlooker, { verb: "terminate", dryRun: true, limit: 2 })).toEqual({
        callId,
        runs: 2,
        next: idOf(2),
        statuses: { queued: 2 },
        runIds: [idOf(3), idOf(2)],
      });
      expect(await operations()).toHaveLength(1);
    });

    test("goes on where the database has looked at as many rows as it may", async () => {
      await start(1, 2, 3);
      await stage.onlooker.query("update layover.run set workflow = 'other' where id <> $1", [idOf(1)]);
      const first = await operate(stage.onlooker, { walk: 2 });
      expect(first).toMatchObject({ runs: 0, next: idOf(2) });
      expect(await operate(stage.onlooker, { walk: 2, before: idOf(2) })).toMatchObject({ runs: 1, next: null });
    });

    describe("from psql", () => {
      const ask = (p: object) => stage.onlooker.query("select layover.operate_runs($1) as answer", [JSON.stringify(p)]);

      test("takes the default namespace, and makes a callId with the database's time", async () => {
        await start(1);
        const [row] = await ask({ verb: "cancel", filter: flow });
        expect(row?.["answer"]).toMatchObject({ runs: 1, outcomes: { cancelled: 1 }, callId: expect.any(String) });
        const [{ at } = { at: "" }] = await stage.look("select call_id as at from layover.operation");
        expect(Number.parseInt(String(at).replace("-", "").slice(0, 12), 16)).toBe(noon);
      });

      test.each([
        [{ verb: "pause" }],
        [{ verb: "pause", filter: {} }],
        [{ verb: "pause", filter: { tags: {} } }],
        [{ verb: "pause", filter: { statuss: "queued" } }],
        [{ verb: "pause", filter: { workflow: "flow", endedBefore: 1 } }],
        [{ verb: "pause", filter: { status: "completed" } }],
        [{ verb: "fork", filter: flow }],
        [{ verb: "delete", filter: { status: "queued" } }],
        [{ verb: "retry", filter: { status: "cancelled" } }],
        [{ verb: "restart", filter: flow }],
        [{ verb: "restart", filter: { status: "queued" } }],
        [{ verb: "signal", filter: { workflow: "flow", endedBefore: 1 } }],
        [{ filter: flow }],
        [{ verb: "pause", filter: flow, limit: 501 }],
        [{ verb: "pause", filter: flow, limit: 0 }],
        [{ verb: "pause", filter: flow, callId: randomUUID() }],
      ])("refuses %j", async (p) => {
        await start(1);
        await expect(ask(p)).rejects.toMatchObject({ code: "LO003" });
        expect(await operations()).toEqual([]);
      });

      test.each([
        ["restart", {}, "(none given)", "Give one: completed, failed, cancelled, blocked or paused."],
        ["restart", { status: "queued" }, "queued", "Give one: completed, failed, cancelled, blocked or paused."],
        ["delete", { status: "queued" }, "queued", "Give another status, or none."],
      ])("says which status fits: %s, %j", async (verb, more, status, hint) => {
        const message = `nothing can be done by ${verb} to runs of the status ${status}`;
        await expect(ask({ verb, filter: { ...flow, ...more } })).rejects.toMatchObject({ message, hint });
      });
    });

    test("fits runs that were created between two instants", async () => {
      await start(1);
      await stage.clock.set(noon + hourMs);
      await start(2);
      const late = "019b79d4-0000-7000-8000-0000000000ff";
      const between = (createdFrom: number, createdBefore: number) =>
        operate(stage.onlooker, { callId: late, filter: { createdFrom, createdBefore }, dryRun: true });
      expect(await between(noon, noon + hourMs)).toMatchObject({ runIds: [idOf(1)] });
      expect(await between(noon + 1, noon + hourMs + 1)).toMatchObject({ runIds: [idOf(2)] });
    });
  },
  { perTest: true },
);
