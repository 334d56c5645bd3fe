/** Leases that are given back unfinished: by their holder alone, counted as before, and claimed by anybody at once. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aRun, aRunAtWork, at, minute, noon, type Run, soon, terms, tokenOf } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "a lease that is given back",
  (database) => {
    const stage = stageOn(database);
    const giveBack = async (by: Session, run: Run, token: string, path?: string) => {
      const turn = { runId: run.id, token: tokenOf(token), ...(path !== undefined && at(path)) };
      return (await by.call("return_leases", { turns: [turn] })).turns[0];
    };
    const returned = { outcome: "returned" };
    const superseded = { outcome: "superseded" };

    /** A run, or its branches, whose leases end in an hour, and which is due then. */
    const withLongLeases = async (run: Run) => {
      const inAnHour = [run.id, new Date(noon + 60 * minute)];
      await stage.onlooker.query("update layover.run_state set due_at = $2 where run_id = $1", inAnHour);
      for (const table of ["run_state", "pending"]) {
        const longer = `update layover.${table} set leased_until = $2 where run_id = $1 and token is not null`;
        await stage.onlooker.query(longer, inAnHour);
      }
      return run;
    };
    const listed = async () => (await stage.onlooker.call("list_due", { versions: terms.versions, limit: 10 })).runs;

    test("of a run has its turn claimed at once by another one: it is due at once, however long the lease was", async () => {
      const run = await withLongLeases(await aRunAtWork(stage));
      const before = await run.state();
      await stage.clock.advance(minute);
      expect(await listed()).toEqual([]);
      expect(await giveBack(stage.onlooker, run, "first")).toEqual(returned);
      expect(await run.state()).toMatchObject({
        status: "parked",
        turn: before?.["turn"],
        dueAt: noon + minute,
        leasedUntil: null,
      });
      expect(await listed()).toMatchObject([{ runId: run.id, turn: before?.["turn"], isReady: true }]);
      expect(await run.claim(stage.onlooker, { token: "second" })).toMatchObject({ outcome: "claimed", claims: 0 });
    });

    test("of a branch has it claimed at once by another one: its run is due at once, however long the lease was", async () => {
      const run = await withLongLeases(await aFanOut(stage, ["a", "b"]));
      await stage.clock.advance(minute);
      expect(await giveBack(stage.onlooker, run, "a", "a")).toEqual(returned);
      expect(await run.state()).toMatchObject({ dueAt: noon + minute });
      expect(await listed()).toMatchObject([{ runId: run.id, branches: [{ path: "a", turn: 1 }] }]);
      expect(await run.claimBranch(stage.onlooker, "a", { token: "second" })).toMatchObject({
        outcome: "claimed",
        claims: 0,
      });
      expect(await giveBack(stage.onlooker, run, "second", "b")).toEqual(superseded);
    });

    test("makes nothing due that is due already, nor a run that is paused, nor another run", async () => {
      const [due, paused, other] = [await aRunAtWork(stage), await aRunAtWork(stage), await aRunAtWork(stage)];
      await paused.operate(stage.onlooker, "pause");
      await withLongLeases(other);
      await stage.clock.advance(2 * minute);
      for (const run of [due, paused]) expect(await giveBack(stage.onlooker, run, "first")).toEqual(returned);
      expect([await due.state(), await paused.state()]).toMatchObject([{ dueAt: soon }, { dueAt: null }]);
      expect(await other.state()).toMatchObject({ dueAt: noon + 60 * minute });
    });

    test("of a branch locks the run first, so that it waits for whoever looks at the run", async () => {
      const run = await aFanOut(stage, ["a"]);
      const [, back] = await stage.collide({
        first: (session) => run.signal(session, "address"),
        second: (session) => giveBack(session, run, "a", "a"),
        meanwhile: async () => {
          const free = "select from layover.pending where run_id = $1 for update skip locked";
          expect(await stage.onlooker.query(free, [run.id])).toHaveLength(1);
        },
      });
      expect(back).toEqual(returned);
    });

    test("was counted before, and stays counted", async () => {
      const run = await aRunAtWork(stage);
      const counted = async () => {
        const { claims, beginnings, lost } = (await run.state()) ?? {};
        return { claims, beginnings, lost };
      };
      for (const token of ["second", "third", "fourth", "fifth"]) {
        await stage.clock.advance(2 * minute);
        await run.claim(stage.onlooker, { token, alone: true });
      }
      await run.renew(stage.onlooker, "fifth", { beginnings: 1 });
      const before = await counted();
      expect(before).toMatchObject({ claims: 1, beginnings: 1, lost: 4 });
      expect(await giveBack(stage.onlooker, run, "fifth")).toEqual(returned);
      expect(await counted()).toEqual(before);
      expect(await run.claim(stage.onlooker, { token: "sixth", alone: true })).toMatchObject({ outcome: "claimed" });
      expect(await counted()).toMatchObject({ claims: 2, lost: 4 });
    });

    test("twice, or by whoever holds it no more, changes nothing", async () => {
      const run = await aRunAtWork(stage);
      await giveBack(stage.onlooker, run, "first");
      await run.claim(stage.onlooker, { token: "second" });
      expect(await giveBack(stage.onlooker, run, "first")).toEqual(superseded);
      expect(await run.state()).toMatchObject({ status: "running" });
      const other = await aRunAtWork(stage);
      expect(await giveBack(stage.onlooker, other, "second")).toEqual(superseded);
      expect(await other.state()).toMatchObject({ status: "running", dueAt: soon });
    });

    test("is no other namespace's, nor given back too late", async () => {
      const run = await aRunAtWork(stage);
      const turns = [{ runId: run.id, token: tokenOf("first") }];
      expect((await stage.onlooker.call("return_leases", { namespace: "elsewhere", turns })).turns).toEqual([
        superseded,
      ]);
      const late = stage.onlooker.call("return_leases", { notAfter: 1, turns });
      await expect(late).rejects.toMatchObject({ code: "LO002" });
      expect(await run.state()).toMatchObject({ status: "running" });
    });

    test("while its finish is under way gives way to that, and the finish to it", async () => {
      const [one, other] = [await aRunAtWork(stage), await aRunAtWork(stage)];
      const [finished, late] = await stage.collide({
        first: (session) => one.finish(session, { token: "first", next: "ready" }),
        second: (session) => giveBack(session, one, "first"),
      });
      expect([finished, late]).toMatchObject([{ outcome: "finished" }, superseded]);
      const [back, refused] = await stage.collide({
        first: (session) => giveBack(session, other, "first"),
        second: (session) => other.finish(session, { token: "first", next: "ready" }),
      });
      expect([back, refused]).toMatchObject([returned, superseded]);
    });

    describe("with others in one call", () => {
      test("is answered by itself", async () => {
        const [one, other] = [await aRunAtWork(stage), await aRun(stage)];
        const turns = [other, one].map(({ id }) => ({ runId: id, token: tokenOf("first") }));
        expect((await stage.onlooker.call("return_leases", { ...terms, turns })).turns).toEqual([superseded, returned]);
      });
    });
  },
  { perTest: true },
);
