/** What is claimed alone, how often it was claimed and how often it was begun: a claim's answer may never have come. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aParkedRun, aRun, aRunAtWork, branches, minute, noon, type Run, terms, tokenOf } from "./runs.ts";
import { type Row, type Session, stageOn } from "./stage.ts";

describeSomePostgres("what goes alone", (database) => {
  const stage = stageOn(database);
  const anAttempt = { beganAt: noon, endedAt: noon, number: 1, error: '0"no"', retryInMs: 0 };

  const kinds = {
    "a run": {
      what: "turn 1",
      ready: () => aRun(stage),
      atWork: () => aRunAtWork(stage),
      claim: (run: Run, by: Session, token: string) => run.claim(by, { token, alone: true }),
      begin: (run: Run, by: Session, token: string, beginnings?: number) =>
        run.renew(by, token, { ...(beginnings !== undefined && { beginnings }) }),
      finish: (run: Run, token: string) => run.finish(stage.onlooker, { token, next: "ready" }),
      row: (run: Run): Promise<Row | undefined> => run.state(),
    },
    "a branch": {
      what: "a#1",
      ready: () => aParkedRun(stage, branches(["a", "b"])),
      atWork: () => aFanOut(stage, ["a", "b"]),
      claim: (run: Run, by: Session, token: string) => run.claimBranch(by, "a", { token, alone: true }),
      begin: (run: Run, by: Session, token: string, beginnings?: number) =>
        run.renew(by, token, { path: "a", ...(beginnings !== undefined && { beginnings }) }),
      finish: (run: Run, token: string) => run.finishBranch(stage.onlooker, "a", { token, attempt: anAttempt }),
      row: async (run: Run): Promise<Row | undefined> => (await run.pending())["a"],
    },
  };

  describe.each(Object.entries(kinds))("%s", (_, { what, ready, atWork, claim, begin, finish, row }) => {
    /** Its process died, as the three before it, and its lease is over. */
    const aDeadOne = async () => {
      const run = await atWork();
      await run.lose(3);
      await stage.clock.advance(2 * minute);
      return run;
    };
    /** Claimed alone again and again; where it is begun as well, `times` of them. */
    const wearOut = async (run: Run, times: number, { isBegun }: { readonly isBegun: boolean }) => {
      for (let number = 1; number <= times; number += 1) {
        const beginnings = isBegun ? number : 0;
        expect(await claim(run, stage.onlooker, `${number}`)).toMatchObject({ outcome: "claimed", claims: number });
        if (isBegun) await begin(run, stage.onlooker, `${number}`, number);
        expect(await row(run)).toMatchObject({ claims: number, beginnings });
        await stage.clock.advance(2 * minute);
      }
    };

    test("is not counted where it is claimed for the first time", async () => {
      const run = await ready();
      expect(await claim(run, stage.onlooker, "first")).toMatchObject({ outcome: "claimed", claims: 0 });
      expect(await row(run)).toMatchObject({ claims: 0, beginnings: 0 });
    });

    test.each([
      ["the first time", ready],
      ["another time", aDeadOne],
    ])("has not been dispatched in vain once it is claimed: %s", async (_, make) => {
      const run = await make();
      for (const table of ["run_state", "pending"])
        await stage.onlooker.query(`update layover.${table} set dispatches = 3 where run_id = $1`, [run.id]);
      await claim(run, stage.onlooker, "alone");
      expect(await row(run)).toMatchObject({ dispatches: 0 });
    });

    test("is begun once, however often that is said, and its lease is renewed with it", async () => {
      const run = await aDeadOne();
      await claim(run, stage.onlooker, "alone");
      await stage.clock.advance(minute / 2);
      for (const _ of ["sent", "sent again"]) {
        const begun = await begin(run, stage.onlooker, "alone", 1);
        expect(begun).toEqual({ outcome: "renewed", leasedUntil: noon + 3.5 * minute, cancel: null, timeoutAt: null });
        expect(await row(run)).toMatchObject({ claims: 1, beginnings: 1, leasedUntil: noon + 3.5 * minute });
      }
      await stage.clock.advance(2 * minute);
      const next = await claim(run, stage.onlooker, "next");
      expect(next).toMatchObject({ outcome: "claimed", claims: 2, beginnings: 1 });
    });

    test("has begun as often as before when its lease is renewed, and not at all when it was finished", async () => {
      const run = await aDeadOne();
      await claim(run, stage.onlooker, "alone");
      await begin(run, stage.onlooker, "alone", 4);
      await begin(run, stage.onlooker, "alone");
      expect(await row(run)).toMatchObject({ claims: 1, beginnings: 4 });
      expect(await finish(run, "alone")).toMatchObject({ outcome: "finished" });
      expect(await row(run)).toMatchObject({ claims: 0, beginnings: 0 });
    });

    test("does not begin when that waits for the lock of whoever claims it next", async () => {
      const run = await aDeadOne();
      await claim(run, stage.onlooker, "alone");
      await stage.clock.advance(2 * minute);
      const [, late] = await stage.collide({
        first: (session) => claim(run, session, "next"),
        second: (session) => begin(run, session, "alone", 1),
      });
      expect(late).toEqual({ outcome: "superseded" });
      expect(await row(run)).toMatchObject({ claims: 2, beginnings: 0, token: tokenOf("next") });
    });

    test.each([
      ["begun", 6, "began"],
      ["claimed", 51, "claimed"],
    ] as const)("is set back once it was %s %i times without an end", async (_, times, verb) => {
      const run = await aDeadOne();
      await wearOut(run, times, { isBegun: verb === "began" });
      expect(await claim(run, stage.onlooker, "last")).toEqual({ outcome: "not_ready", readyAt: null });
      const reason = `${times} invocations in a row ${verb} ${what} and never finished it`;
      expect(await stage.look("select reason from layover.setback where run_id = $1", [run.id])).toEqual([{ reason }]);
      expect(await run.state()).toMatchObject({ blocked: null });
      const beginnings = verb === "began" ? terms.maxBeginnings - 1 : 0;
      expect(await row(run)).toMatchObject({ claims: 0, beginnings, turn: 2, token: null });
    });

    test("is not set back once it may go beside others again, however often it began", async () => {
      const run = await ready();
      await claim(run, stage.onlooker, "first");
      await begin(run, stage.onlooker, "first", terms.maxBeginnings + 1);
      await stage.clock.advance(2 * minute);
      expect(await claim(run, stage.onlooker, "next")).toMatchObject({ outcome: "claimed", claims: 0 });
    });
  });

  test("has not begun any more once it is finished: in a set too, and as a branch that blocks its run", async () => {
    const [one, other, branching] = [await aRunAtWork(stage), await aRunAtWork(stage), await aFanOut(stage, ["a"])];
    for (const run of [one, other, branching]) await run.lose(3);
    await stage.clock.advance(2 * minute);
    for (const run of [one, other]) {
      await run.claim(stage.onlooker, { token: "alone", alone: true });
      await run.renew(stage.onlooker, "alone", { beginnings: 3 });
    }
    await branching.claimBranch(stage.onlooker, "a", { token: "alone", alone: true });
    await branching.renew(stage.onlooker, "alone", { path: "a", beginnings: 3 });

    const turns = [one, other].map((run) => run.toFinish({ token: "alone", next: "ready" }));
    await stage.onlooker.call("finish_turns", { ...terms, turns });
    await branching.finishBranch(stage.onlooker, "a", { token: "alone", blocked: "by other code" });

    const { a } = await branching.pending();
    for (const row of [await one.state(), await other.state(), a])
      expect(row).toMatchObject({ claims: 0, beginnings: 0, lost: 0 });
  });
});
