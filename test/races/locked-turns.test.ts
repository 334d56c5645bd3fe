/** Somebody's open transaction may hold the row of a run for an hour. The calls of a process then give up that run, and nothing else. */
import { beforeEach, describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import {
  aDemand,
  aFanOut,
  aParkedRun,
  aRecord,
  aRun,
  aRunAtWork,
  at,
  branches,
  minute,
  noon,
  type Run,
  terms,
  tokenOf,
} from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "where somebody has locked a run,",
  (database) => {
    const stage = stageOn(database);
    const lock = (run: Run) => stage.hold("select from layover.run_state where run_id = $1 for update", [run.id]);
    const isFree = async (run: Run) =>
      (await stage.look("select from layover.run_state where run_id = $1 for update skip locked", [run.id])).length > 0;

    test("the finishes of one call that come with it are recorded, and it is refused, before their process gives up", async () => {
      const first = await aRunAtWork(stage);
      const locked = await Promise.all(Array.from({ length: 198 }, () => aRunAtWork(stage)));
      const last = await aRunAtWork(stage);
      const ids = locked.map(({ id }) => id);
      const holder = await stage.hold("select from layover.run_state where run_id = any ($1) for update", [ids]);
      const turns = [first, ...locked, last].map((run) =>
        run.toFinish({ token: "first", next: "ready", records: [aRecord("step", "a")] }),
      );
      await stage.onlooker.query("set statement_timeout = '15s'");
      const { turns: answers } = await stage.onlooker.call("finish_turns", { ...terms, turns });
      const finished = { outcome: "finished" };
      expect(answers).toMatchObject([finished, ...ids.map(() => ({ outcome: "raised", sqlState: "55P03" })), finished]);
      expect([await isFree(first), await isFree(last)]).toEqual([true, true]);
      await holder.commit();
      const again = turns.filter(({ runId }) => ids.includes(runId));
      expect(await stage.onlooker.call("finish_turns", { ...terms, turns: again })).toMatchObject({
        turns: ids.map(() => finished),
      });
    });

    test("its branches are refused as soon, though another finish of their call was refused for what it says", async () => {
      const [bad, locked] = [await aRunAtWork(stage), await aFanOut(stage, ["a", "b", "c", "d"])];
      await lock(locked);
      const turns = [
        bad.toFinish({ token: "first", next: "ready", records: [{ ...aRecord("step", "a"), attempts: 40_000 }] }),
        ...["a", "b", "c", "d"].map((path) => locked.toFinishBranch(path, { token: path })),
      ];
      await stage.onlooker.query("set statement_timeout = '15s'");
      expect(await stage.onlooker.call("finish_turns", { ...terms, turns })).toMatchObject({
        turns: ["22003", ...Array(4).fill("55P03")].map((sqlState) => ({ outcome: "raised", sqlState })),
      });
    });

    test("a finish whose lease is another one's is told so, and waits for nobody", async () => {
      const run = await aRunAtWork(stage);
      await lock(run);
      await stage.onlooker.query("set statement_timeout = '3s'");
      expect(await run.finish(stage.onlooker, { token: "stranger", next: "ready" })).toEqual({ outcome: "superseded" });
    });

    test("the claims of one call wait also where they are tried one by one: here for the first claim in a namespace", async () => {
      const [first, ...runs] = [await aRun(stage), await aRun(stage), await aRun(stage)];
      await stage.look("delete from layover.environment");
      const turns = runs.map((run) => run.toClaim({ token: "first" }));
      const claimed = { outcome: "claimed" };
      expect(
        await stage.collide({
          first: (session) => first.claim(session, { token: "first" }),
          second: (session) => session.call("claim_turns", { ...terms, turns }),
          meanwhile: () => stage.look("select pg_sleep(0.3)"),
        }),
      ).toMatchObject([claimed, { turns: [claimed, claimed] }]);
    });

    // A process waits for an answer for 15 s, and for 5 s where it gives leases back. A statement that waited longer would keep its locks in vain.
    test("each call of a turn or a tick ends before its process stops waiting for it", async () => {
      const limits = await stage.look(
        `select p.proname, setting from pg_proc p, unnest(p.proconfig) as setting
          where pronamespace = 'layover'::regnamespace and setting like 'lock_timeout=%' order by p.proname`,
      );
      expect(Object.fromEntries(limits.map(({ proname, setting }) => [proname, setting]))).toEqual({
        claim_turns: "lock_timeout=10s",
        finish_turns: "lock_timeout=5s",
        move_due: "lock_timeout=5s",
        renew_leases: "lock_timeout=10s",
        return_leases: "lock_timeout=4s",
      });
    });

    describe("a renewal that skips what is locked", () => {
      const renew = async (by: Session, turns: readonly object[]) =>
        (await by.call("renew_leases", { leaseMs: minute, skipsLocked: true, turns })).turns;
      const leaseOf = (run: Run, token: string, more: object = {}) => ({
        runId: run.id,
        token: tokenOf(token),
        ...more,
      });
      const until = { outcome: "renewed", leasedUntil: noon + 2 * minute };

      beforeEach(async () => {
        await stage.onlooker.query("set statement_timeout = '5s'");
        await stage.clock.set(noon);
      });

      test("renews the others, says which it has left, and leaves that as it was", async () => {
        const runs = [await aRunAtWork(stage), await aRunAtWork(stage), await aRunAtWork(stage)];
        const [, locked] = runs as [Run, Run, Run];
        const { leasedUntil } = await locked.state();
        const holder = await lock(locked);
        await stage.clock.set(noon + minute);
        const turns = runs.map((run) => leaseOf(run, "first"));
        expect(await renew(stage.onlooker, turns)).toMatchObject([until, { outcome: "locked" }, until]);
        await holder.commit();
        expect(await locked.state()).toMatchObject({ leasedUntil });
        expect(await renew(stage.onlooker, turns)).toMatchObject([until, until, until]);
      });

      /** Branches of two runs, and two of one path. All have the token "a". */
      async function namesakes() {
        const demands = [...branches(["a"]), { ...aDemand("branch", "a", { ordinal: 2 }), occurrence: 2 }];
        const runs = [await aParkedRun(stage, demands), await aParkedRun(stage, demands)] as const;
        const places = runs.flatMap((run) => [1, 2].map((occurrence) => ({ run, place: { path: "a", occurrence } })));
        const leases = places.map(({ run, place }) => leaseOf(run, "a", place));
        for (const { run, place } of places) {
          const turns = [{ ...run.toClaim({ token: "a" }), ...place }];
          expect(await stage.onlooker.call("claim_turns", { ...terms, turns })).toMatchObject({
            turns: [{ outcome: "claimed" }],
          });
        }
        return { run: runs[0], leases };
      }
      const [isLocked, isRenewed, isGone] = ["locked", "renewed", "superseded"].map((outcome) => ({ outcome }));

      test.each([1, 2])(
        "leaves the branch that is locked, whose occurrence is %i, and no other one",
        async (locked) => {
          const { run, leases } = await namesakes();
          const holder = await stage.hold(
            "select from layover.pending where run_id = $1 and occurrence = $2 for update",
            [run.id, locked],
          );
          const told = locked === 1 ? [isLocked, isRenewed] : [isRenewed, isLocked];
          expect(await renew(stage.onlooker, leases)).toMatchObject([...told, isRenewed, isRenewed]);
          await holder.commit();
          expect(await renew(stage.onlooker, leases)).toMatchObject(leases.map(() => isRenewed));
        },
      );

      test.each([1, 2])(
        "tells of the branch that is gone, whose occurrence is %i, and of no other one",
        async (gone) => {
          const { run, leases } = await namesakes();
          await stage.look("delete from layover.pending where run_id = $1 and occurrence = $2", [run.id, gone]);
          const told = gone === 1 ? [isGone, isRenewed] : [isRenewed, isGone];
          expect(await renew(stage.onlooker, leases)).toMatchObject([...told, isRenewed, isRenewed]);
        },
      );

      test("leaves a branch that says something of a run that is locked", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        const [a, b] = [leaseOf(run, "a", at("a")), leaseOf(run, "b", at("b"))];
        await lock(run);
        const saying = { ...a, says: '0"packing"' };
        expect(await renew(stage.onlooker, [saying, b])).toMatchObject([isLocked, isRenewed]);
        expect(await renew(stage.onlooker, [a, b])).toMatchObject([isRenewed, isRenewed]);
      });

      test("tells at once of what is gone, or somebody else's", async () => {
        const [run, other] = [await aRunAtWork(stage), await aFanOut(stage, ["a"])];
        const superseded = { outcome: "superseded" };
        const gone = { runId: "00000000-0000-7000-8000-000000000009", token: tokenOf("first") };
        const turns = [gone, leaseOf(run, "stranger"), leaseOf(other, "a", at("gone"))];
        expect(await renew(stage.onlooker, turns)).toMatchObject([superseded, superseded, superseded]);
      });
    });
  },
  { perTest: true },
);
