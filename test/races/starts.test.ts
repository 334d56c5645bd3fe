import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aStart, noon, only, Run, second, soon, terms } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const tables = ["run", "run_state", "record", "pending", "map", "attempt", "signal", "callback", "tag"];

describeSomePostgres(
  "the start of a run",
  (database) => {
    const stage = stageOn(database);
    const start = (more: object) => (session: Session) => session.call("start_run", { ...aStart(), ...more });
    const rows = async () => {
      const counts = tables.map((table) => `(select count(*) from layover.${table})`).join(" + ");
      return Number(only(await stage.look(`select ${counts} as count`))["count"]);
    };
    const runs = () => stage.look("select from layover.run join layover.run_state on run_id = id");

    test("begins where the one that had its id was pruned, after it was found to be there and before it was read", async () => {
      const runId = randomUUID();
      await start({ runId })(stage.onlooker);
      await stage.look(`
        create function public.pass_the_gate() returns trigger language plpgsql as
          $$ begin perform pg_advisory_xact_lock_shared(1); return null; end $$;
        create trigger gate after insert on layover.run for each statement execute function public.pass_the_gate()`);
      const [, answer] = await stage.collide({
        first: (session) => session.query("select pg_advisory_xact_lock(1)"),
        second: start({ runId, encodedInput: "0[]" }),
        meanwhile: () => stage.look("select layover.delete_rows($1)", [runId]).then(() => {}),
      });
      expect(answer).toMatchObject({ outcome: "started", runId });
      expect(await runs()).toHaveLength(1);
    });

    describe("with the same user id as another one at the same time", () => {
      test("finds that one where the input is the same", async () => {
        const runId = randomUUID();
        const both = { first: start({ runId, id: "o1" }), second: start({ id: "o1" }) };
        const [one, other] = await stage.collide(both);
        expect(one).toMatchObject({ outcome: "started", runId });
        expect(other).toMatchObject({ outcome: "exists", runId });
        expect(await runs()).toHaveLength(1);
      });

      test("is a conflict where the input is another one", async () => {
        const runId = randomUUID();
        const both = { first: start({ runId, id: "o1" }), second: start({ id: "o1", encodedInput: "0[]" }) };
        const [, other] = await stage.collide(both);
        expect(other).toMatchObject({ outcome: "conflict", runId });
        expect(await runs()).toHaveLength(1);
      });

      test("succeeds if that one rolls back", async () => {
        const runId = randomUUID();
        const both = { first: start({ id: "o1" }), second: start({ runId, id: "o1" }), ends: "rollback" } as const;
        const [, other] = await stage.collide(both);
        expect(other).toMatchObject({ outcome: "started", runId });
        expect(await runs()).toHaveLength(1);
      });
    });

    test.each(["commit", "rollback"] as const)(
      "sent twice at once is told the same, and done once (%s)",
      async (ends) => {
        const runId = randomUUID();
        const same = start({ runId, id: "o1" });
        const [one, other] = await stage.collide({ first: same, second: same, ends });
        expect([one, other]).toMatchObject([
          { outcome: "started", runId },
          { outcome: "started", runId },
        ]);
        expect(await runs()).toHaveLength(1);
      },
    );

    describe("in the caller's own transaction, from bare SQL", () => {
      const bare = `select layover.start_run('{"workflow": "flow", "version": 1, "input": {"id": "o1"}, "tags": {"a": "b"}}')`;

      test("leaves nothing when that is rolled back", async () => {
        await stage.onlooker.query("begin");
        await stage.onlooker.query(bare);
        await stage.onlooker.query("rollback");
        expect(await rows()).toBe(0);
      });

      test("leaves nothing when that fails after it", async () => {
        const failing = stage.look(`begin; ${bare}; select 1 / 0; commit`);
        await expect(failing).rejects.toMatchObject({ code: "22012" });
        expect(await rows()).toBe(0);
      });

      test("is complete when that is committed: the tick finds it, and it runs to its end", async () => {
        await stage.look(`begin; ${bare}; commit`);
        const due = await stage.onlooker.call("list_due", { versions: terms.versions, limit: 10 });
        const { runId, turn } = only(due.runs);
        const run = new Run(stage, runId);
        const claimed = await run.claim(stage.onlooker, { token: "first", turn });
        expect(claimed).toMatchObject({ outcome: "claimed", run: { input: '0{"id": "o1"}', isInputParsed: false } });
        const completed = await run.finish(stage.onlooker, { token: "first", next: "completed", value: "0null" });
        expect(completed).toMatchObject({ outcome: "finished", status: "completed" });
      });

      test("is not there for anyone else until that is committed", async () => {
        const session = await stage.session("starter");
        await session.begin();
        const { runId } = aStart();
        await start({ runId })(session);
        const run = new Run(stage, runId);
        expect(await run.claim(stage.onlooker, { token: "early" })).toEqual({ outcome: "unknown" });
        expect(await run.signal(stage.onlooker, "early")).toEqual({ outcome: "unknown" });
        expect(await stage.onlooker.call("get_run", { runId })).toEqual({ outcome: "unknown" });
        await session.commit();
        expect(await run.claim(stage.onlooker, { token: "first" })).toMatchObject({ outcome: "claimed" });
      });

      test.each(["repeatable read", "serializable"])("may have the isolation level %s", async (isolation) => {
        const session = await stage.session("starter");
        await session.begin(isolation);
        expect(await start({})(session)).toMatchObject({ outcome: "started" });
        await session.commit();
        expect(await runs()).toHaveLength(1);
      });
    });

    describe("in a transaction that is to be committed within a second", () => {
      const startIn = async (more: object = {}) => {
        const session = await stage.session("starter");
        await session.begin();
        await start({ commitWithinMs: second, armed: [soon], ...more })(session);
        return session;
      };

      test("is there when that is committed in time, to the millisecond", async () => {
        const session = await startIn();
        await stage.clock.advance(second);
        await session.commit();
        expect(await runs()).toHaveLength(1);
      });

      test.each([
        ["or by an instant, which is earlier", noon + 500, noon + 500],
        ["or by an instant, which is later", noon + 2 * second, noon + second],
      ])("%s, is refused by the COMMIT after the first of both", async (_, commitBy, last) => {
        const [inTime, late] = [await startIn({ commitBy }), await startIn({ runId: randomUUID(), commitBy })];
        await stage.clock.set(last);
        await inTime.commit();
        await stage.clock.set(last + 1);
        await expect(late.commit()).rejects.toMatchObject({ code: "LO004" });
        expect(await runs()).toHaveLength(1);
      });

      test("is refused by the COMMIT that comes too late, with all that was done in it", async () => {
        const session = await startIn();
        await session.query("insert into layover.tag select id, namespace, 'own', 'row' from layover.run");
        await stage.clock.advance(second + 1);
        await expect(session.commit()).rejects.toMatchObject({ code: "LO004" });
        expect(await rows()).toBe(0);
      });

      test("is refused by the COMMIT that waited too long for somebody else", async () => {
        const [one, other] = [await stage.session("one"), await stage.session("other")];
        await other.begin();
        await other.query("create table busy as select 1 as one");
        await one.begin();
        await start({ commitWithinMs: second })(one);
        const waiting = one.query("create table busy as select 2 as two");
        await one.untilBlocked(other);
        await stage.clock.set(noon + second + 1);
        await other.rollback();
        await waiting;
        await expect(one.commit()).rejects.toMatchObject({ code: "LO004" });
        expect(await rows()).toBe(0);
      });
    });
  },
  { perTest: true },
);
