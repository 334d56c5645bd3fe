/** Rows of stored values are locked in one order by those who lock several, so that two of them never meet in a deadlock. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { isFreeOn, plan } from "./lock-order.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "stored values",
  (database) => {
    const stage = stageOn(database);

    test("are locked by their keys when they are forgotten, whatever the order of the rows or of the call", async () => {
      const [nobody, namespace] = [randomUUID(), "default"];
      for (const key of ["b", "a"]) // `a` lies behind `b`
        await stage.onlooker.call("hold_values", { namespace, values: [{ runId: nobody, key, bytes: 7 }] });
      let wasFree = false;
      await stage.collide({
        first: (session) => session.query("select from layover.stored_value where key = 'a' for update"),
        second: async (session) => {
          const off = ["indexscan", "bitmapscan", "nestloop", "mergejoin"].map((name) => `enable_${name} = off`);
          await plan(session, off);
          await session.query("discard plans"); // of tests before, whose session this may be
          return await session.call("forget_values", { namespace, keys: ["b", "a"] });
        },
        meanwhile: async () => {
          wasFree = await isFreeOn(stage)("from layover.stored_value where key = 'b'");
        },
      });
      expect(wasFree).toBe(true);
      expect(await stage.look("select from layover.stored_value")).toEqual([]);
    });
  },
  { perTest: true },
);
