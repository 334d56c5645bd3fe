import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import {
  aParkedRun,
  aRecord,
  aRun,
  aRunAtWork,
  aWaitFor,
  minute,
  noon,
  type Run,
  second,
  terms,
  tokenOf,
} from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "the claim of a run",
  (database) => {
    const stage = stageOn(database);
    const claim =
      (run: Run, token: string, { turn = 1, alone = false } = {}) =>
      (session: Session) =>
        run.claim(session, { token, turn, alone });
    const goOn =
      (run: Run, token = "first") =>
      (session: Session) =>
        run.finish(session, { token, next: "ready", records: [aRecord("step", "charge")] });

    describe("against another claimer of the same turn", () => {
      test("succeeds for one; the other is told until when it is busy", async () => {
        const run = await aRun(stage);
        const [one, other] = await stage.collide({ first: claim(run, "one"), second: claim(run, "other") });
        expect(one).toMatchObject({ outcome: "claimed" });
        expect(other).toEqual({ outcome: "busy", until: noon + minute });
        expect(await run.state()).toMatchObject({ status: "running", token: tokenOf("one") });
      });

      test("succeeds for the other if the one rolls back", async () => {
        const run = await aRun(stage);
        const both = { first: claim(run, "one"), second: claim(run, "other"), ends: "rollback" } as const;
        const [, other] = await stage.collide(both);
        expect(other).toMatchObject({ outcome: "claimed" });
        expect(await run.state()).toMatchObject({ status: "running", token: tokenOf("other") });
      });
    });

    describe("sent twice at once", () => {
      test.each(["commit", "rollback"] as const)("is answered the same (%s)", async (ends) => {
        const run = await aRun(stage);
        const same = claim(run, "first", { alone: true });
        const [one, other] = await stage.collide({ first: same, second: same, ends });
        expect(one).toMatchObject({ outcome: "claimed", turn: 1, claims: 0, run: { workflow: "flow" } });
        expect(other).toEqual(one);
        expect(await run.state()).toMatchObject({ claims: 0, token: tokenOf("first") });
      });

      test("is answered the same, and counted once, when it takes over a dead turn", async () => {
        const run = await aRunAtWork(stage);
        await stage.clock.advance(2 * minute);
        const same = claim(run, "second", { alone: true });
        const [one, other] = await stage.collide({ first: same, second: same });
        expect(one).toMatchObject({ outcome: "claimed" });
        expect(other).toEqual(one);
        expect(await run.state()).toMatchObject({ lost: 1, token: tokenOf("second") });
      });
    });

    describe("executed late", () => {
      test("after its turn was finished, is stale and told the current turn", async () => {
        const run = await aRunAtWork(stage);
        await goOn(run)(stage.onlooker);
        expect(await claim(run, "late")(stage.onlooker)).toEqual({ outcome: "stale", turn: 2 });
        expect(await claim(run, "second", { turn: 2 })(stage.onlooker)).toMatchObject({ outcome: "claimed" });
        expect(await claim(run, "late")(stage.onlooker)).toEqual({ outcome: "stale", turn: 2 });
        expect(await claim(run, "first")(stage.onlooker)).toEqual({ outcome: "stale", turn: 2 });
      });

      test("and waiting for the lock of the finish of its turn, is stale", async () => {
        const run = await aRunAtWork(stage);
        const [, late] = await stage.collide({ first: goOn(run), second: claim(run, "late") });
        expect(late).toEqual({ outcome: "stale", turn: 2 });
      });

      test("and waiting for the lock of a finish that rolls back, is busy", async () => {
        const run = await aRunAtWork(stage);
        const both = { first: goOn(run), second: claim(run, "late"), ends: "rollback" } as const;
        const [, late] = await stage.collide(both);
        expect(late).toEqual({ outcome: "busy", until: noon + minute });
      });

      test.each(["first", "late"])(
        "and waiting for the lock of a claim that took its run over, is busy (%s)",
        async (token) => {
          const run = await aRunAtWork(stage);
          await stage.clock.advance(2 * minute);
          const takeOver = claim(run, "second", { alone: true });
          const [taken, late] = await stage.collide({ first: takeOver, second: claim(run, token, { alone: true }) });
          expect(taken).toMatchObject({ outcome: "claimed", turn: 1 });
          expect(late).toEqual({ outcome: "busy", until: noon + 3 * minute });
        },
      );

      test("after its run was taken over and the turn finished, is stale", async () => {
        const run = await aRunAtWork(stage);
        await stage.clock.advance(2 * minute);
        await claim(run, "second", { alone: true })(stage.onlooker);
        const [, late] = await stage.collide({
          first: goOn(run, "second"),
          second: claim(run, "first", { alone: true }),
        });
        expect(late).toEqual({ outcome: "stale", turn: 2 });
      });

      test("and waiting for a signal that its run does not wait for, is told that the run is not ready", async () => {
        const run = await aParkedRun(stage, [aWaitFor("address")]);
        const signal = (session: Session) => run.signal(session, "unrelated");
        const [, late] = await stage.collide({ first: signal, second: claim(run, "second", { turn: 2 }) });
        expect(late).toEqual({ outcome: "not_ready", readyAt: null });
      });

      test("leases from the moment at which it has the lock", async () => {
        const run = await aRun(stage);
        const hold = (session: Session) => run.signal(session, "unrelated");
        const meanwhile = () => stage.clock.advance(30 * second);
        await stage.collide({ first: hold, second: claim(run, "first"), meanwhile });
        expect(await run.state()).toMatchObject({ status: "running", leasedUntil: noon + 30 * second + minute });
      });
    });

    describe("that takes over from a holder whose lease is over", () => {
      const aDeadRun = async () => {
        const run = await aRunAtWork(stage);
        await stage.clock.advance(2 * minute);
        return run;
      };
      const takeOver = (run: Run) => claim(run, "second", { alone: true });

      test("supersedes the finish that waits for its lock", async () => {
        const run = await aDeadRun();
        const [taken, finished] = await stage.collide({ first: takeOver(run), second: goOn(run) });
        expect(taken).toMatchObject({ outcome: "claimed" });
        expect(finished).toEqual({ outcome: "superseded" });
        expect(await run.history()).toEqual([]);
        expect(await run.state()).toMatchObject({ status: "running", token: tokenOf("second"), turn: 1 });
      });

      test("leaves the late finish to succeed if it rolls back", async () => {
        const run = await aDeadRun();
        const [, finished] = await stage.collide({ first: takeOver(run), second: goOn(run), ends: "rollback" });
        expect(finished).toMatchObject({ outcome: "finished", turn: 2 });
      });

      test("is stale when it waits for the lock of the late finish", async () => {
        const run = await aDeadRun();
        const [finished, taken] = await stage.collide({ first: goOn(run), second: takeOver(run) });
        expect(finished).toMatchObject({ outcome: "finished", turn: 2 });
        expect(taken).toEqual({ outcome: "stale", turn: 2 });
        expect(await run.history()).toEqual(["charge"]);
      });

      test("succeeds when the late finish rolls back", async () => {
        const run = await aDeadRun();
        const [, taken] = await stage.collide({ first: goOn(run), second: takeOver(run), ends: "rollback" });
        expect(taken).toMatchObject({ outcome: "claimed", turn: 1 });
      });

      test("supersedes the renewal that waits for its lock", async () => {
        const run = await aDeadRun();
        const renew = (session: Session) => run.renew(session, "first");
        const [, renewed] = await stage.collide({ first: takeOver(run), second: renew });
        expect(renewed).toEqual({ outcome: "superseded" });
      });

      test("is busy when it waits for the lock of a late renewal", async () => {
        const run = await aDeadRun();
        const renew = (session: Session) => run.renew(session, "first");
        const [renewed, taken] = await stage.collide({ first: renew, second: takeOver(run) });
        expect(renewed).toEqual({ outcome: "renewed", leasedUntil: noon + 3 * minute, cancel: null, timeoutAt: null });
        expect(taken).toEqual({ outcome: "busy", until: noon + 3 * minute });
      });

      test("succeeds when that lease ends while it waits for a lock", async () => {
        const run = await aRunAtWork(stage);
        const hold = (session: Session) => run.signal(session, "unrelated");
        const meanwhile = () => stage.clock.advance(minute);
        const [, taken] = await stage.collide({ first: hold, second: takeOver(run), meanwhile });
        expect(taken).toMatchObject({ outcome: "claimed", turn: 1 });
        expect(await run.state()).toMatchObject({ leasedUntil: noon + 2 * minute });
      });

      test("is busy when it waited for a lock beyond that lease, and somebody else took over meanwhile", async () => {
        const run = await aDeadRun();
        const hold = await stage.session("hold");
        const [one, other] = [await stage.session("one"), await stage.session("other")];
        await hold.begin();
        await run.signal(hold, "unrelated");
        const taken = takeOver(run)(one);
        await one.untilBlocked(hold);
        const late = claim(run, "third", { alone: true })(other);
        await other.untilBlocked(one);
        await hold.commit();
        expect(await taken).toMatchObject({ outcome: "claimed" });
        expect(await late).toEqual({ outcome: "busy", until: noon + 3 * minute });
      });
    });

    describe("as the first one in a database, by two deployments at once", () => {
      const twoRuns = async () => {
        const runs = [await aRun(stage), await aRun(stage)] as const;
        await stage.look("delete from layover.environment");
        return runs;
      };
      const claimAs = (run: Run, environment: string) => async (session: Session) => {
        const turns = [run.toClaim({ token: environment })];
        const answer = await session.call("claim_turns", { ...terms, environment, turns });
        return answer.turns[0]?.outcome;
      };

      test("is granted to one environment only", async () => {
        const [mine, yours] = await twoRuns();
        const both = { first: claimAs(mine, "production"), second: claimAs(yours, "staging") };
        expect(await stage.collide(both)).toEqual(["claimed", "wrong_environment"]);
      });

      test("is granted to the second environment if the first rolls back", async () => {
        const [mine, yours] = await twoRuns();
        const both = {
          first: claimAs(mine, "production"),
          second: claimAs(yours, "staging"),
          ends: "rollback",
        } as const;
        expect(await stage.collide(both)).toEqual(["claimed", "claimed"]);
        expect(await stage.look("select name from layover.environment")).toEqual([{ name: "staging" }]);
      });
    });
  },
  { perTest: true },
);
