/** The beginning of an attempt, of a step that runs at most once: whoever claims its turn next is told of it. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aRunAtWork, at, minute, type Run, terms, tokenOf } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres("an attempt that is written down before its body begins", (database) => {
  const stage = stageOn(database);
  const begins = "1 a";
  const kinds = {
    "by a run": {
      token: "first",
      atWork: () => aRunAtWork(stage),
      begin: (run: Run, by: Session, token: string, begins = "1 a") => run.renew(by, token, { begins }),
      claim: (run: Run, by: Session, token: string, alone = false) => run.claim(by, { token, alone }),
      place: {},
    },
    "by a branch": {
      token: "a",
      atWork: () => aFanOut(stage, ["a", "b"]),
      begin: (run: Run, by: Session, token: string, begins = "1 a") => run.renew(by, token, { path: "a", begins }),
      claim: (run: Run, by: Session, token: string, alone = false) => run.claimBranch(by, "a", { token, alone }),
      place: at("a"),
    },
  };

  describe.each(Object.entries(kinds))("%s", (_, { token, atWork, begin, claim, place }) => {
    const giveBack = (run: Run) =>
      stage.onlooker.call("return_leases", { turns: [{ runId: run.id, token: tokenOf(token), ...place }] });

    test("is told to the claim after the lease is over, and after that to each one, until another is written down", async () => {
      const run = await atWork();
      await begin(run, stage.onlooker, token);
      for (const next of ["second", "third"]) {
        await stage.clock.advance(2 * minute);
        expect(await claim(run, stage.onlooker, next, true)).toMatchObject({ outcome: "claimed", begun: begins });
      }
      await begin(run, stage.onlooker, "third", "2 a");
      await stage.clock.advance(2 * minute);
      expect(await claim(run, stage.onlooker, "fourth", true)).toMatchObject({ outcome: "claimed", begun: "2 a" });
    });

    test("is told to the claim after the lease was given back", async () => {
      const run = await atWork();
      await begin(run, stage.onlooker, token);
      await giveBack(run);
      expect(await claim(run, stage.onlooker, "second")).toMatchObject({ outcome: "claimed", begun: begins });
    });

    test("is told to a process that has the whole history already", async () => {
      const run = await atWork();
      await begin(run, stage.onlooker, token);
      await giveBack(run);
      const turn = { ...run.toClaim({ token: "second" }), ...place, have: { epoch: 0, position: 0, rowsThrough: 0 } };
      const { turns } = await stage.onlooker.call("claim_turns", { ...terms, turns: [turn] });
      expect(turns).toMatchObject([{ outcome: "claimed", have: 0, begun: begins }]);
    });

    test("stays written down when the lease is renewed after it", async () => {
      const run = await atWork();
      await begin(run, stage.onlooker, token);
      await run.renew(stage.onlooker, token, "path" in place ? { path: place.path } : {});
      await giveBack(run);
      expect(await claim(run, stage.onlooker, "second")).toMatchObject({ begun: begins });
    });

    test("is written down by the same call sent again", async () => {
      const run = await atWork();
      for (const _ of ["sent", "sent again"])
        expect(await begin(run, stage.onlooker, token)).toMatchObject({ outcome: "renewed" });
    });

    test("is told to the claim that waits for it", async () => {
      const run = await atWork();
      await stage.clock.advance(2 * minute);
      const [begun, claimed] = await stage.collide({
        first: (session) => begin(run, session, token),
        second: (session) => claim(run, session, "second"),
        meanwhile: () => stage.clock.advance(2 * minute),
      });
      expect(begun).toMatchObject({ outcome: "renewed" });
      expect(claimed).toMatchObject({ outcome: "claimed", begun: begins });
    });

    test("is refused where the turn was claimed by somebody else before it", async () => {
      const run = await atWork();
      await stage.clock.advance(2 * minute);
      const [claimed, begun] = await stage.collide({
        first: (session) => claim(run, session, "second"),
        second: (session) => begin(run, session, token),
      });
      expect(claimed).toMatchObject({ outcome: "claimed", begun: null });
      expect(begun).toEqual({ outcome: "superseded" });
      await stage.clock.advance(2 * minute);
      expect(await claim(run, stage.onlooker, "third")).toMatchObject({ outcome: "claimed", begun: null });
    });
  });

  test("is told to each branch of its own where several are claimed by one call", async () => {
    const run = await aFanOut(stage, ["a", "b"]);
    await run.renew(stage.onlooker, "a", { path: "a", begins: "1 a" });
    const held = ["a", "b"].map((path) => ({ runId: run.id, token: tokenOf(path), ...at(path) }));
    await stage.onlooker.call("return_leases", { turns: held });
    const claims = ["a", "b"].map((path) => ({ ...run.toClaim({ token: `second ${path}` }), ...at(path) }));
    const { turns } = await stage.onlooker.call("claim_turns", { ...terms, turns: claims });
    expect(turns).toMatchObject([
      { outcome: "claimed", begun: "1 a" },
      { outcome: "claimed", begun: null },
    ]);
  });
});
