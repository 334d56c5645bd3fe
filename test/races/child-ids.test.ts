/** A finish that starts a run first locks the id that a user gave to that run. All ids share 32 locks. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aChild } from "./invoking.ts";
import { aRunAtWork } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "a finish of one turn that starts a run",
  (database) => {
    const stage = stageOn(database);
    const lock = "select pg_advisory_xact_lock(7812090, pg_catalog.hashtext($1) & 31)";

    test("waits for another call that has locked the id of that run", async () => {
      const parent = await aRunAtWork(stage);
      const children = [aChild("it", { id: "o1" })];
      const [, told] = await stage.collide({
        first: (session) => session.query(lock, ["default flow o1"]),
        second: (session) => parent.finish(session, { token: "first", children }),
      });
      expect(told).toMatchObject({ outcome: "finished", hasStarted: true });
    });

    test("locks nothing for a run without an id", async () => {
      const parent = await aRunAtWork(stage);
      await stage.hold(lock, ["default flow"]);
      await stage.onlooker.query("set statement_timeout = '5s'");
      const told = await parent.finish(stage.onlooker, { token: "first", children: [aChild("it")] });
      expect(told).toMatchObject({ outcome: "finished", hasStarted: true });
    });
  },
  { perTest: true },
);
