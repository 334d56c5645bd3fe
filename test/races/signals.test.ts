import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aParkedRun, aRun, aRunAtWork, aWaitFor, noon, type Run, second } from "./runs.ts";
import { type Session, type Stage, stageOn } from "./stage.ts";

describeSomePostgres(
  "a signal",
  (database) => {
    const stage = stageOn(database);
    const park = (run: Run) => (session: Session) =>
      run.finish(session, { token: "first", demands: [aWaitFor("address")] });
    const send = (run: Run) => (session: Session) => run.signal(session, "address");

    describe("against the park of the run that is about to wait for it", () => {
      test("makes the run ready when it waits for the lock of the finish", async () => {
        const run = await aRunAtWork(stage);
        const [parked, sent] = await stage.collide({ first: park(run), second: send(run) });
        expect(parked).toMatchObject({ outcome: "finished", isReady: false });
        expect(sent).toMatchObject({ outcome: "sent", turn: 2 });
        expect(await run.state()).toMatchObject({ status: "parked", isReady: true });
      });

      test("is there for the finish when that one rolls back and comes again", async () => {
        const run = await aRunAtWork(stage);
        const [, sent] = await stage.collide({ first: park(run), second: send(run), ends: "rollback" });
        expect(sent).toMatchObject({ outcome: "sent", turn: null });
        expect(await park(run)(stage.onlooker)).toMatchObject({ outcome: "finished", isReady: true });
      });

      test("makes the run ready when the finish waits for its lock", async () => {
        const run = await aRunAtWork(stage);
        const [sent, parked] = await stage.collide({ first: send(run), second: park(run) });
        expect(sent).toMatchObject({ outcome: "sent", turn: null });
        expect(parked).toMatchObject({ outcome: "finished", isReady: true });
        expect(await run.state()).toMatchObject({ status: "parked", isReady: true });
      });

      test("leaves nothing when it rolls back: the run parks", async () => {
        const run = await aRunAtWork(stage);
        const [, parked] = await stage.collide({ first: send(run), second: park(run), ends: "rollback" });
        expect(parked).toMatchObject({ outcome: "finished", isReady: false });
        expect(await run.state()).toMatchObject({ status: "parked", readyAt: null });
      });

      test("makes the run ready when the finish has the lock, but has not looked yet", async () => {
        const run = await aRunAtWork(stage);
        const [gate, parking, sending] = await cast(stage, "layover.pending");
        const parked = park(run)(parking);
        await parking.untilBlocked(gate);
        const sent = send(run)(sending);
        await sending.untilBlocked(parking);
        await gate.commit();
        expect(await parked).toMatchObject({ outcome: "finished", isReady: false });
        expect(await sent).toMatchObject({ outcome: "sent", turn: 2 });
        expect(await run.state()).toMatchObject({ isReady: true });
      });

      test("makes the run ready when it has the lock, but has not been written yet", async () => {
        const run = await aRunAtWork(stage);
        const [gate, sending, parking] = await cast(stage, "layover.signal");
        const sent = send(run)(sending);
        await sending.untilBlocked(gate);
        const parked = park(run)(parking);
        await parking.untilBlocked(sending);
        await gate.commit();
        expect(await sent).toMatchObject({ outcome: "sent" });
        expect(await parked).toMatchObject({ outcome: "finished", isReady: true });
      });
    });

    test("is offered by the claim that waits for its lock", async () => {
      const run = await aRun(stage);
      const claim = (session: Session) => run.claim(session, { token: "first" });
      const [, claimed] = await stage.collide({ first: send(run), second: claim });
      expect(claimed).toMatchObject({ outcome: "claimed", signals: [{ name: "address" }] });
    });

    test("lets the claim through that found its run not ready and waits for its lock", async () => {
      const run = await aParkedRun(stage, [aWaitFor("address")]);
      const claim = (session: Session) => run.claim(session, { token: "second", turn: 2 });
      const [, claimed] = await stage.collide({ first: send(run), second: claim });
      expect(claimed).toMatchObject({ outcome: "claimed", signals: [{ name: "address" }] });
    });

    test("that waits for a claim's lock is seen by the finish of that turn", async () => {
      const run = await aRun(stage);
      const claim = (session: Session) => run.claim(session, { token: "first" });
      const [claimed, sent] = await stage.collide({ first: claim, second: send(run) });
      expect(claimed).toMatchObject({ outcome: "claimed", signals: null });
      expect(sent).toMatchObject({ outcome: "sent", turn: null });
      expect(await park(run)(stage.onlooker)).toMatchObject({ isReady: true });
    });

    test("against the end of its run is either stored before it or told that it is over", async () => {
      const complete = (run: Run) => (session: Session) =>
        run.finish(session, { token: "first", next: "completed", value: "0null" });
      const late = await aRunAtWork(stage);
      const [, refused] = await stage.collide({ first: complete(late), second: send(late) });
      expect(refused).toMatchObject({ outcome: "over", status: "completed" });
      expect(await stage.look("select from layover.signal")).toHaveLength(0);

      const early = await aRunAtWork(stage);
      const [sent, completed] = await stage.collide({ first: send(early), second: complete(early) });
      expect(sent).toMatchObject({ outcome: "sent" });
      expect(completed).toMatchObject({ outcome: "finished", status: "completed" });
    });

    test("is stamped when it has the lock: it may have waited beyond the deadline of the wait", async () => {
      const run = await aParkedRun(stage, [aWaitFor("address", { until: noon + 5 * second })]);
      const hold = (session: Session) => session.query("select from layover.run_state for update");
      const meanwhile = () => stage.clock.advance(5 * second + 1);
      const [, sent] = await stage.collide({ first: hold, second: send(run), meanwhile });
      expect(sent).toMatchObject({ outcome: "sent", turn: null, now: noon + 5 * second + 1 });
    });

    test("of two that are sent at once, is offered in the order of the locks", async () => {
      const run = await aRun(stage);
      const [holder, one, other] = await cast(stage, "layover.map");
      await holder.query("select from layover.run_state for update");
      const sent = [run.signal(one, "address", { payload: '0"first"' })];
      await one.untilBlocked(holder);
      sent.push(run.signal(other, "address", { payload: '0"second"' }));
      await other.untilBlocked(one);
      await holder.commit();
      await Promise.all(sent);
      const signals = [{ payload: '0"first"' }, { payload: '0"second"' }];
      expect(await run.claim(stage.onlooker, { token: "first" })).toMatchObject({ signals });
    });

    describe("sent twice at once", () => {
      const sendTwice = async (options: { dedupeId?: string; signalId?: string }, ends: "commit" | "rollback") => {
        const run = await aRun(stage);
        const call = (session: Session) => run.signal(session, "address", options);
        const answers = await stage.collide({ first: call, second: call, ends });
        const stored = await stage.look("select from layover.signal");
        return { outcomes: answers.map(({ outcome }) => outcome), stored: stored.length };
      };

      test("with one dedupeId is stored once, and the later call is told so", async () => {
        expect(await sendTwice({ dedupeId: "d" }, "commit")).toEqual({ outcomes: ["sent", "duplicate"], stored: 1 });
      });

      test("with one dedupeId is stored by the later call if the first rolls back", async () => {
        expect(await sendTwice({ dedupeId: "d" }, "rollback")).toEqual({ outcomes: ["sent", "sent"], stored: 1 });
      });

      test.each(["commit", "rollback"] as const)(
        "by the same call is stored once, and both are told so (%s)",
        async (ends) => {
          expect(await sendTwice({ signalId: randomUUID() }, ends)).toEqual({ outcomes: ["sent", "sent"], stored: 1 });
        },
      );
    });
  },
  { perTest: true },
);

/** Who stops others at a table, and two sessions. */
async function cast(stage: Stage, table: string): Promise<[gate: Session, one: Session, other: Session]> {
  return [await stage.gate(table), await stage.session("one"), await stage.session("other")];
}
