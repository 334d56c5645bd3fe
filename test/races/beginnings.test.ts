/** What is claimed alone counts once it begins, not when it is claimed: a claim's answer may never have come. */
import { describe, expect, test } from "vitest";
import { describeEachPostgres } from "../postgres/database.ts";
import { aFanOut, aParkedRun, aRun, aRunAtWork, branches, minute, noon, type Run, tokenOf } from "./runs.ts";
import { type Row, type Session, stageOn } from "./stage.ts";

describeEachPostgres("a turn that goes alone", (database) => {
  const stage = stageOn(database);

  /** One of each kind, which was dispatched in vain and whose process died. */
  const kinds = {
    "of a run": {
      make: () => aRunAtWork(stage),
      claim: (run: Run, by: Session, token: string) => run.claim(by, { token, alone: true }),
      renew: (run: Run, by: Session, token: string, claims?: number) =>
        run.renew(by, token, { ...(claims !== undefined && { claims }) }),
      finish: (run: Run, token: string) => run.finish(stage.onlooker, { token, next: "ready" }),
      row: (run: Run): Promise<Row | undefined> => run.state(),
    },
    "of a branch": {
      make: () => aFanOut(stage, ["a", "b"]),
      claim: (run: Run, by: Session, token: string) => run.claimBranch(by, "a", { token, alone: true }),
      renew: (run: Run, by: Session, token: string, claims?: number) =>
        run.renew(by, token, { path: "a", ...(claims !== undefined && { claims }) }),
      finish: (run: Run, token: string) => run.finishBranch(stage.onlooker, "a", { token, attempt: anAttempt }),
      row: async (run: Run): Promise<Row | undefined> => (await run.pending())["a"],
    },
  };
  const anAttempt = { beganAt: noon, endedAt: noon, number: 1, error: '0"no"', retryInMs: 0 };

  describe.each(Object.entries(kinds))("%s", (_, { make, claim, renew, finish, row }) => {
    const aDeadOne = async () => {
      const run = await make();
      for (const table of ["run_state", "pending"])
        await stage.onlooker.query(`update layover.${table} set dispatches = 3 where run_id = $1`, [run.id]);
      await stage.clock.advance(2 * minute);
      return run;
    };

    test("is claimed as often as may be and counts for nothing, and is looked for less and less often", async () => {
      const run = await aDeadOne();
      for (let number = 1; number <= 9; number += 1) {
        expect(await claim(run, stage.onlooker, `${number}`)).toMatchObject({ outcome: "claimed", claims: 0 });
        expect(await row(run)).toMatchObject({ claims: 0, dispatches: 3 });
        await stage.clock.advance(2 * minute);
      }
    });

    test("counts when it begins, and with that its dispatches have arrived", async () => {
      const run = await aDeadOne();
      await claim(run, stage.onlooker, "alone");
      await stage.clock.advance(minute / 2);
      for (const _ of ["sent", "sent again"]) {
        const begun = await renew(run, stage.onlooker, "alone", 1);
        expect(begun).toEqual({ outcome: "renewed", leasedUntil: noon + 3.5 * minute });
        expect(await row(run)).toMatchObject({ claims: 1, dispatches: 0, leasedUntil: noon + 3.5 * minute });
      }
      await stage.clock.advance(2 * minute);
      expect(await claim(run, stage.onlooker, "next")).toMatchObject({ outcome: "claimed", claims: 1 });
    });

    test("counts as before where its lease is renewed meanwhile", async () => {
      const run = await aDeadOne();
      await claim(run, stage.onlooker, "alone");
      await renew(run, stage.onlooker, "alone", 4);
      await stage.onlooker.query("update layover.run_state set dispatches = 2");
      await stage.onlooker.query("update layover.pending set dispatches = 2");
      await renew(run, stage.onlooker, "alone");
      expect(await row(run)).toMatchObject({ claims: 4, dispatches: 2 });
    });

    test("counts no longer once it is finished", async () => {
      const run = await aDeadOne();
      await claim(run, stage.onlooker, "alone");
      await renew(run, stage.onlooker, "alone", 4);
      expect(await finish(run, "alone")).toMatchObject({ outcome: "finished" });
      expect(await row(run)).toMatchObject({ claims: 0 });
    });

    test("does not begin when it waits for the lock of whoever claims it next", async () => {
      const run = await aDeadOne();
      await claim(run, stage.onlooker, "alone");
      await stage.clock.advance(2 * minute);
      const [, late] = await stage.collide({
        first: (session) => claim(run, session, "next"),
        second: (session) => renew(run, session, "alone", 1),
      });
      expect(late).toEqual({ outcome: "superseded" });
      expect(await row(run)).toMatchObject({ claims: 0, token: tokenOf("next") });
    });
  });

  test.each([
    ["a run", async () => aRun(stage), (run: Run) => run.claim(stage.onlooker, { token: "first" })],
    [
      "a branch",
      async () => aParkedRun(stage, branches(["a"])),
      (run: Run) => run.claimBranch(stage.onlooker, "a", { token: "first" }),
    ],
  ])("once it is claimed for the first time, its dispatches have arrived: %s", async (_, make, claim) => {
    const run = await make();
    for (const table of ["run_state", "pending"])
      await stage.onlooker.query(`update layover.${table} set dispatches = 3 where run_id = $1`, [run.id]);
    expect(await claim(run)).toMatchObject({ outcome: "claimed" });
    const { a } = await run.pending();
    expect(a ?? (await run.state())).toMatchObject({ dispatches: 0 });
  });

  test("is blocked, once more of them have begun than may", async () => {
    const run = await aFanOut(stage, ["a"]);
    await stage.clock.advance(2 * minute);
    for (const claims of [1, 2, 3, 4, 5, 6]) {
      await run.claimBranch(stage.onlooker, "a", { token: `${claims}`, alone: true });
      await run.renew(stage.onlooker, `${claims}`, { path: "a", claims });
      await stage.clock.advance(2 * minute);
    }
    const last = { token: "last", alone: true };
    expect(await run.claimBranch(stage.onlooker, "a", last)).toEqual({ outcome: "blocked" });
    expect(await run.state()).toMatchObject({ blocked: "6 invocations in a row began a#1 and never finished it" });
  });
});
