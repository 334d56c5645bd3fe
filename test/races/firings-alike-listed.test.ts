/** Schedules that a firing lists for the next page, beside others that are named alike, each with its next instant. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { elsewhere, firingsOn, hour, next } from "./firing.ts";
import { minute, noon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "a schedule that fires beside others",
  (database) => {
    const stage = stageOn(database);
    const { create, fire } = firingsOn(stage);

    describe("is listed for the next page", () => {
      const due = async (more: object = {}) => (await fire([], { listsNext: true, ...more })).next;

      test("if it is due, in its namespace, and its workflow is carried here: by its instant, and then by its name", async () => {
        for (const name of ["c", "a", "d"]) await create(name);
        await create("b", { startAt: noon - minute });
        await create("e", { workflow: "third" });
        await create("f", { startAt: next + minute });
        await create("a", {}, elsewhere);
        await stage.look("update layover.schedule set due_at = fires_at");
        await stage.clock.set(next);
        expect(await due({ except: ["d"] })).toEqual([
          { name: "b", lookAt: next + hour - minute },
          { name: "a", lookAt: next + hour },
          { name: "c", lookAt: next + hour },
        ]);
        expect(await due(elsewhere)).toEqual([{ name: "a", lookAt: next + hour }]);
        expect((await fire([])).next).toBeNull();
        expect(await due({ namespace: "nobody's" })).toBe(null);
      });

      test("with its own instant, if that is still to come, and with the one behind all that have passed", async () => {
        await create("a");
        await create("early", { startAt: noon + 30 * minute });
        await stage.look("update layover.schedule set due_at = layover.now() where name = 'early'");
        await stage.clock.set(next + 2 * hour + minute);
        await stage.look("update layover.schedule set next_at = $1, fires_at = $1 where name = 'early'", [
          new Date(next + 3 * hour),
        ]);
        expect(await due()).toEqual([
          { name: "early", lookAt: next + 3 * hour },
          { name: "a", lookAt: next + 3 * hour },
        ]);
      });

      test("without an instant, if that of one of them cannot be computed", async () => {
        await create("a");
        await create("b");
        await create("c", { workflow: "third" });
        await create("a", {}, elsewhere);
        await create("d");
        await create("later", { startAt: next + hour });
        await stage.look("update layover.schedule set due_at = fires_at where name = 'later'");
        await stage.look(`update layover.schedule set definition = definition || '{"everyMs": "x"}' where name = 'b'`);
        await stage.clock.set(next);
        expect(await due({ except: ["d"] })).toEqual([
          { name: "a", lookAt: null },
          { name: "b", lookAt: null },
        ]);
        await stage.look(
          "update layover.schedule set definition = definition || jsonb_build_object('everyMs', 3600000)",
        );
      });

      test.each([
        ["with the instants of the first five hundred", "everyMs"],
        ["without instants, the first five hundred, if one cannot be computed", "odd"],
      ])("%s", async (_, field) => {
        await create("a");
        await stage.look(
          `insert into layover.schedule
             select q.* from layover.schedule v, generate_series(1, 501) as n,
                 jsonb_populate_record(v, jsonb_build_object('name', 'a' || to_char(n, 'FM000'), 'due_at', v.due_at - n * interval '1 second')) as q
              order by n`,
        );
        await create("later", { startAt: next + hour });
        if (field === "odd")
          await stage.look(
            `update layover.schedule set definition = definition || '{"everyMs": "x"}' where name = 'a400'`,
          );
        await stage.clock.set(next);
        const names = (await due())?.map(({ name }) => name);
        expect(names).toHaveLength(500);
        expect([names?.[0], names?.[1], names?.[499]]).toEqual(["a501", "a500", "a002"]);
        await stage.look(
          "update layover.schedule set definition = definition || jsonb_build_object('everyMs', 3600000)",
        );
      });
    });
  },
  { perTest: true },
);
