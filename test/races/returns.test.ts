/** Leases that are given back unfinished: by their holder alone, counted as before, and claimed by anybody at once. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aRun, aRunAtWork, at, minute, type Run, terms, tokenOf } from "./runs.ts";
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

    test("of a run has its turn claimed at once by another one, and its due instant stays", async () => {
      const run = await aRunAtWork(stage);
      const before = await run.state();
      expect(await giveBack(stage.onlooker, run, "first")).toEqual(returned);
      expect(await run.state()).toMatchObject({
        status: "parked",
        turn: before?.["turn"],
        dueAt: before?.["dueAt"],
        leasedUntil: null,
      });
      expect(await run.claim(stage.onlooker, { token: "second" })).toMatchObject({ outcome: "claimed", claims: 0 });
    });

    test("of a branch has it claimed at once by another one", async () => {
      const run = await aFanOut(stage, ["a", "b"]);
      expect(await giveBack(stage.onlooker, run, "a", "a")).toEqual(returned);
      expect(await run.claimBranch(stage.onlooker, "a", { token: "second" })).toMatchObject({
        outcome: "claimed",
        claims: 0,
      });
      expect(await giveBack(stage.onlooker, run, "second", "b")).toEqual(superseded);
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
