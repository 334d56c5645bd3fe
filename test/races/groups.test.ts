/** How many others may be claimed beside a turn whose leases were lost, and what counts as a loss. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aRun, aRunAtWork, minute, type Run, terms } from "./runs.ts";
import { type Row, type Session, stageOn } from "./stage.ts";

describeSomePostgres("a turn whose leases were lost", (database) => {
  const stage = stageOn(database);

  const kinds = {
    "a run": {
      atWork: () => aRunAtWork(stage),
      toClaim: (run: Run, token: string, group: object) => ({ ...run.toClaim({ token }), ...group }),
      finish: (run: Run, token: string) => run.finish(stage.onlooker, { token, next: "ready" }),
      renew: (run: Run, token: string) => run.renew(stage.onlooker, token),
      row: (run: Run): Promise<Row | undefined> => run.state(),
      first: "first",
    },
    "a branch": {
      atWork: () => aFanOut(stage, ["a"]),
      toClaim: (run: Run, token: string, group: object) => ({
        ...run.toClaim({ token }),
        path: "a",
        occurrence: 1,
        ...group,
      }),
      finish: (run: Run, token: string) => run.finishBranch(stage.onlooker, "a", { token }),
      renew: (run: Run, token: string) => run.renew(stage.onlooker, token, { path: "a" }),
      row: async (run: Run): Promise<Row | undefined> => (await run.pending())["a"],
      first: "a",
    },
  };

  describe.each(Object.entries(kinds))("%s", (_, { atWork, toClaim, finish, renew, row, first }) => {
    /** Makes a run of which so many leases are over that nobody has finished. */
    const thatLost = async (times: number) => {
      const run = await atWork();
      await run.lose(times - 1);
      await stage.clock.advance(2 * minute);
      return run;
    };
    /** Claims the run or its branch, in a call with so many others that are ready. */
    const claim = async (run: Run, token: string, group: object, others = 0, by: Session = stage.onlooker) => {
      const beside = [];
      for (let number = 1; number <= others; number += 1)
        beside.push((await aRun(stage)).toClaim({ token: `${token} ${number}` }));
      const { turns } = await by.call("claim_turns", { ...terms, turns: [toClaim(run, token, group), ...beside] });
      expect(turns.slice(1)).toMatchObject(beside.map(() => ({ outcome: "claimed" })));
      return turns[0];
    };

    test("once goes with any number of others", async () => {
      expect(await claim(await thatLost(1), "again", {}, 20)).toMatchObject({ outcome: "claimed", claims: 0 });
    });

    test.each([
      [2, 16],
      [3, 4],
      [4, 1],
      [9, 1],
    ])("%i times goes in a call of %i at most, and only if that is a group", async (times, size) => {
      const run = await thatLost(times);
      const refused = { outcome: "alone", groupSize: size };
      expect(await claim(run, "any", {})).toEqual(refused);
      expect(await claim(run, "too large", { groupSize: size + 1 })).toEqual(refused);
      expect(await claim(run, "too many", { groupSize: size }, size)).toEqual(refused);
      expect(await row(run)).toMatchObject({ lost: times - 1 });
      expect(await claim(run, "well", { groupSize: size }, size - 1)).toMatchObject({ outcome: "claimed" });
      expect(await row(run)).toMatchObject({ lost: times, claims: Number(size === 1) });
    });

    test("may always go alone, as the last release has it go, and is not counted for it while it need not", async () => {
      const run = await thatLost(2);
      expect(await claim(run, "again", { alone: true })).toMatchObject({ outcome: "claimed", claims: 0 });
    });

    test("has lost none any more once it is finished", async () => {
      const run = await thatLost(3);
      await claim(run, "again", { groupSize: 4 });
      expect(await finish(run, "again")).toMatchObject({ outcome: "finished" });
      expect(await row(run)).toMatchObject({ lost: 0 });
    });

    test.each([
      ["finishes", finish],
      ["renews", renew],
    ])("has not lost the one whose holder %s too late, however often that is said", async (_, tell) => {
      const run = await thatLost(1);
      await claim(run, "again", {});
      for (const _ of ["said", "said again"]) {
        expect(await tell(run, first)).toEqual({ outcome: "superseded" });
        expect(await row(run)).toMatchObject({ lost: 1, spared: 1 });
      }
      await stage.clock.advance(2 * minute);
      expect(await claim(run, "third", {})).toMatchObject({ outcome: "claimed" });
    });

    test.each([
      ["finishes", finish],
      ["renews", renew],
    ])("twice has not lost the last one whose holder %s too late, and is not spared another one", async (_, tell) => {
      const run = await thatLost(1);
      await claim(run, "again", {});
      await stage.clock.advance(2 * minute);
      expect(await claim(run, "third", { groupSize: 16 })).toMatchObject({ outcome: "claimed" });
      await tell(run, first);
      expect(await row(run)).toMatchObject({ lost: 2, spared: 0 });
      for (const _ of ["said", "said again"]) {
        await tell(run, "again");
        expect(await row(run)).toMatchObject({ lost: 2, spared: 1 });
      }
    });

    test("to holders that are all alive goes in groups nevertheless, if it goes on like that", async () => {
      const run = await thatLost(1);
      for (let number = 1; number <= 6; number += 1) {
        expect(await claim(run, `${number}`, {})).toMatchObject({ outcome: "claimed" });
        await renew(run, number === 1 ? first : `${number - 1}`);
        await stage.clock.advance(2 * minute);
      }
      expect(await claim(run, "7", {})).toEqual({ outcome: "alone", groupSize: 16 });
    });

    test("twice is listed with the size of its group", async () => {
      const run = await thatLost(2);
      await stage.onlooker.query("update layover.run_state set due_at = layover.now() where run_id = $1", [run.id]);
      const { runs } = await stage.onlooker.call("list_due", { ...terms, limit: 1_000 });
      const listed = runs.find(({ runId }) => runId === run.id);
      const [branch] = listed?.branches ?? [];
      expect(branch ?? listed).toMatchObject({ isUnfinished: true, groupSize: 16 });
    });
  });

  test("is told the reason for which it is not claimed before the size of its group", async () => {
    const run = await aRunAtWork(stage);
    await run.lose(5);
    expect(await run.claim(stage.onlooker, { token: "again" })).toMatchObject({ outcome: "busy" });
  });
});
