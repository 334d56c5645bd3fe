import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRun, aStart, aWaitFor, minute, noon, Run, soon } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const idOf = (n: number) => `00000000-0000-7000-8000-00000000000${n}`;
const signalOf = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;

describeSomePostgres(
  "a signal that starts its run",
  (database) => {
    const stage = stageOn(database);
    const aCall = (n: number, more: object = {}) => ({
      ...aStart(idOf(n)),
      id: "o1",
      signalId: signalOf(n),
      name: "address",
      encodedPayload: `0${n}`,
      armed: [soon],
      ...more,
    });
    const send =
      (n: number, more: object = {}) =>
      (session: Session) =>
        session.call("signal_with_start", aCall(n, more));
    const runs = async () => (await stage.look("select id from layover.run order by id")).map(({ id }) => id);
    const payloads = async () =>
      (await stage.look("select payload from layover.signal order by number")).map(({ payload }) => payload);
    const end = async (runId: string) => {
      const run = new Run(stage, runId);
      await run.claim(stage.onlooker, { token: "first" });
      await run.finish(stage.onlooker, { token: "first", next: "completed", value: "0null" });
    };

    test("starts it where there is none, and the run has the signal from its first turn on", async () => {
      expect(await send(1)(stage.onlooker)).toEqual({
        ...{ outcome: "sent", runId: idOf(1), status: null, isNew: true, version: null },
        ...{ turn: 1, readyAt: noon, now: noon },
      });
      const claimed = await new Run(stage, idOf(1)).claim(stage.onlooker, { token: "first" });
      expect(claimed).toMatchObject({ outcome: "claimed", signals: [{ payload: "01" }] });
    });

    test("is sent to the run that has the id, and makes it ready where it waits", async () => {
      await stage.onlooker.call("start_run", { ...aStart(idOf(1)), id: "o1" });
      const run = new Run(stage, idOf(1));
      await run.claim(stage.onlooker, { token: "first" });
      await run.finish(stage.onlooker, { token: "first", demands: [aWaitFor("address")] });
      expect(await send(2)(stage.onlooker)).toMatchObject({ outcome: "sent", runId: idOf(1), isNew: false, turn: 2 });
      expect(await run.state()).toMatchObject({ status: "parked", isReady: true });
      expect(await runs()).toEqual([idOf(1)]);
    });

    test("is sent no more where somebody has deleted its run since", async () => {
      const note = "insert into layover.deletion (namespace, run_id, deleted_at) values ('default', $1, layover.now())";
      await stage.onlooker.query(note, [idOf(1)]);
      await stage.onlooker.query("set statement_timeout = '5s'");
      const told = { outcome: "sent", runId: idOf(1), isNew: true, version: 1, now: noon };
      expect(await send(1)(stage.onlooker)).toEqual(told);
      expect([await runs(), await payloads()]).toEqual([[], []]);
    });

    test("is sent to a run that has another input", async () => {
      await stage.onlooker.call("start_run", { ...aStart(idOf(1)), id: "o1" });
      const other = { encodedInput: '0"other"' };
      expect(await send(2, other)(stage.onlooker)).toMatchObject({ outcome: "sent", runId: idOf(1), isNew: false });
    });

    test("does nothing where the call's own run id is another run's", async () => {
      const run = await aRun(stage);
      const answer = await send(1, { runId: run.id, encodedInput: '0"other"' })(stage.onlooker);
      expect(answer).toMatchObject({ outcome: "conflict", runId: null });
      expect(await payloads()).toEqual([]);
    });

    test("is refused by a run that is over, and changes nothing", async () => {
      await stage.onlooker.call("start_run", { ...aStart(idOf(1)), id: "o1" });
      await end(idOf(1));
      const answer = { outcome: "over", runId: idOf(1), status: "completed", isNew: false };
      expect(await send(2)(stage.onlooker)).toMatchObject(answer);
      expect([await runs(), await payloads()]).toEqual([[idOf(1)], []]);
    });

    test.each([
      ["has started the run", 1, true],
      ["has found the run", 2, false],
    ])(
      "sent again by the same call that %s, does nothing and is answered the same, also at the run's end",
      async (_, n, isNew) => {
        await send(1)(stage.onlooker);
        const answer = { outcome: "sent", runId: idOf(1), isNew };
        for (let times = 0; times < 2; times += 1) expect(await send(n)(stage.onlooker)).toMatchObject(answer);
        await end(idOf(1));
        expect(await send(n)(stage.onlooker)).toMatchObject(answer);
        expect([await runs(), await payloads()]).toEqual([[idOf(1)], n === 1 ? ["01"] : ["01", "02"]]);
      },
    );

    test("is left out where one of its dedupeId has come, also from another call and at the run's end", async () => {
      await send(1, { dedupeId: "d" })(stage.onlooker);
      const answer = { outcome: "duplicate", runId: idOf(1), isNew: false };
      expect(await send(2, { dedupeId: "d" })(stage.onlooker)).toMatchObject(answer);
      await end(idOf(1));
      expect(await send(2, { dedupeId: "d" })(stage.onlooker)).toMatchObject(answer);
      expect(await payloads()).toEqual(["01"]);
    });

    test("does not make a run begin earlier whose start was put off", async () => {
      expect(await send(1, { delayMs: minute })(stage.onlooker)).toMatchObject({ isNew: true, readyAt: noon + minute });
      expect(await send(2)(stage.onlooker)).toMatchObject({ outcome: "sent", isNew: false, turn: null });
      expect(await new Run(stage, idOf(1)).state()).toMatchObject({ isReady: false });
    });

    test("takes from psql what start_run and send_signal take", async () => {
      const call = { workflow: "cart", version: 1, id: "c1", input: { a: 1 }, name: "item", payload: { sku: "lamp" } };
      const text = "select layover.signal_with_start($1) as answer";
      const [row] = await stage.onlooker.query(text, [JSON.stringify(call)]);
      expect(row?.["answer"]).toMatchObject({ outcome: "sent", isNew: true, turn: 1 });
      expect(await payloads()).toEqual(['0{"sku": "lamp"}']);
    });

    describe("against another one of its id", () => {
      test("waits until that is committed, and is sent to the run of that", async () => {
        const [one, other] = await stage.collide({ first: send(1), second: send(2) });
        expect([one, other]).toMatchObject([{ isNew: true }, { outcome: "sent", runId: idOf(1), isNew: false }]);
        expect([await runs(), await payloads()]).toEqual([[idOf(1)], ["01", "02"]]);
      });

      test("starts the run itself if that rolls back", async () => {
        const [, other] = await stage.collide({ first: send(1), second: send(2), ends: "rollback" });
        expect(other).toMatchObject({ outcome: "sent", runId: idOf(2), isNew: true });
        expect([await runs(), await payloads()]).toEqual([[idOf(2)], ["02"]]);
      });

      test("sent twice at once by the same call is stored once", async () => {
        const answers = await stage.collide({ first: send(1), second: send(1) });
        for (const answer of answers) expect(answer).toMatchObject({ outcome: "sent", runId: idOf(1), isNew: true });
        expect([await runs(), await payloads()]).toEqual([[idOf(1)], ["01"]]);
      });
    });

    test("starts a new run where the old one is pruned after it was found", async () => {
      await stage.onlooker.call("start_run", { ...aStart(idOf(1)), id: "o1" });
      await end(idOf(1));
      await stage.clock.advance(minute);
      const pruner = await stage.hold("select from layover.run_state for update");
      const sender = await stage.session("sender");
      const sent = send(2)(sender);
      await sender.untilBlocked(pruner);
      expect(await pruner.call("prune_runs", { keepMs: minute, keepFailedMs: minute, limit: 10 })).toEqual({
        pruned: 1,
        isMore: false,
      });
      await pruner.commit();
      expect(await sent).toMatchObject({ outcome: "sent", runId: idOf(2), isNew: true });
      expect([await runs(), await payloads()]).toEqual([[idOf(2)], ["02"]]);
    });

    test("is refused in a transaction in which looking after the lock is blind", async () => {
      const session = await stage.session("blind");
      await session.begin("repeatable read");
      await expect(send(1)(session)).rejects.toMatchObject({ code: "LO001" });
      await session.rollback();
      expect(await runs()).toEqual([]);
    });
  },
  { perTest: true },
);
