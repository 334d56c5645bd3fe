/** What many runs are claimed with by one statement holds for each of them by itself. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRecord, aRun, noon, terms } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "of many runs at once",
  (database) => {
    const stage = stageOn(database);
    const callOf = async (name: "claim_turns" | "finish_turns", more: object, ...turns: object[]) =>
      (await stage.onlooker.call(name, { ...terms, ...more, turns })).turns;

    describe("a set of claims", () => {
      const aSet = async () => [await aRun(stage), await aRun(stage)] as const;

      test("takes only the runs whose version is carried here", async () => {
        const [run, other] = await aSet();
        await stage.onlooker.query("update layover.run set version = 2 where id = $1", [other.id]);
        const claims = [run, other].map((one) => one.toClaim({ token: "first" }));
        expect(await callOf("claim_turns", {}, ...claims)).toMatchObject([
          { outcome: "claimed" },
          { outcome: "not_here" },
        ]);
      });

      test.each([
        ["of another environment", { environment: "other" }],
        ["at another address", { endpoint: "elsewhere" }],
        ["whose environment has another namespace", { environment: "owner" }],
      ])("takes none for a deployment %s", async (_, more) => {
        const runs = await aSet();
        await stage.onlooker.call("adopt_environment", { ...terms, environment: "owner", namespace: "elsewhere" });
        const claims = runs.map((run) => run.toClaim({ token: "first" }));
        const refused = claims.map(() => ({ outcome: "wrong_environment" }));
        expect(await callOf("claim_turns", more, ...claims)).toEqual(refused);
      });

      test("takes none that this deployment has refused", async () => {
        const [run, other] = await aSet();
        await stage.onlooker.query("update layover.run_state set refused_by = $2 where run_id = $1", [
          other.id,
          JSON.stringify({ green: { at: noon, why: "no" } }),
        ]);
        const claims = [run, other].map((one) => one.toClaim({ token: "first" }));
        expect(await callOf("claim_turns", { deployment: "green" }, ...claims)).toMatchObject([
          { outcome: "claimed" },
          { outcome: "not_here" },
        ]);
      });

      test("tells of the signals that came", async () => {
        const runs = await aSet();
        for (const run of runs) await run.signal(stage.onlooker, "address");
        const claims = runs.map((run) => run.toClaim({ token: "first", have: { epoch: 0, position: 0 } }));
        const told = claims.map(() => ({ outcome: "claimed", signals: [{ name: "address" }] }));
        expect(await callOf("claim_turns", {}, ...claims)).toMatchObject(told);
      });

      test("takes no run that was paused, or whose turn was done, while it waited for its lock", async () => {
        const [run, other] = await aSet();
        const both = (turn: number) => [run, other].map((one) => one.toClaim({ token: "late", turn }));
        const claim = (turn: number) => async (session: Session) =>
          (await session.call("claim_turns", { ...terms, turns: both(turn) })).turns;
        const goOn = async (session: Session) => {
          for (const one of [run, other]) {
            await one.claim(session, { token: "first" });
            await one.finish(session, { token: "first", next: "ready", records: [aRecord("step", "charge")] });
          }
        };
        const [, late] = await stage.collide({ first: goOn, second: claim(1) });
        expect(late).toEqual(both(1).map(() => ({ outcome: "stale", turn: 2 })));
        const pause = (session: Session) =>
          session.query("update layover.run_state set paused_at = layover.now(), due_at = null");
        const [, stopped] = await stage.collide({ first: pause, second: claim(2) });
        expect(stopped).toEqual(both(2).map(() => ({ outcome: "paused" })));
      });

      test.each([
        ["that holds less of it", { epoch: 0, position: 0 }, 0],
        ["that holds another one of it", { epoch: 1, position: 1 }, null],
      ])("tells the history to a process %s", async (_, have, known) => {
        const runs = await aSet();
        for (const run of runs) {
          await run.claim(stage.onlooker, { token: "first" });
          await run.finish(stage.onlooker, { token: "first", next: "ready", records: [aRecord("step", "charge")] });
        }
        const claims = runs.map((run) => run.toClaim({ token: "second", turn: 2, have }));
        const records = [["step", "charge", 1, false, "0null", noon, 1]];
        expect(await callOf("claim_turns", {}, ...claims)).toMatchObject(runs.map(() => ({ have: known, records })));
      });
    });
  },
  { perTest: true },
);
