/** The schedules that `layover doctor` shows: those that do not fire, or not as some code says, and no others. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { minute, noon } from "./runs.ts";
import { stageOn } from "./stage.ts";

const hour = 60 * minute;
const next = noon + hour;

describeSomePostgres(
  "a troubled schedule",
  (database) => {
    const stage = stageOn(database);
    const definition = { workflow: "flow", version: 1, everyMs: hour, startAt: noon, encodedInput: "0null" };
    const nightly = { ...definition, everyMs: undefined, startAt: undefined, cron: "0 3 * * *" };
    const create = (name: string, given: object = definition, call: object = {}) =>
      stage.onlooker.call("create_schedule", { name, definition: given, armed: [next], ...call });
    const declare = (deploymentName: string, schedules: object, more: object = {}) =>
      stage.onlooker.call("note_deployment", {
        ...{ deploymentName, deployment: "1", note: "deployed", versions: { flow: [1] }, schedules, armed: [next] },
        ...more,
      });
    const troubled = async (namespace = "default"): Promise<readonly string[]> => {
      const [row] = await stage.look("select layover.list_troubled_schedules($1) as them", [namespace]);
      const them: readonly { readonly name: string }[] = JSON.parse(JSON.stringify(row?.["them"]));
      return them.map(({ name }) => name);
    };
    const set = (name: string, what: string) =>
      stage.look(`update layover.schedule set ${what} where namespace = 'default' and name = '${name}'`);

    /** Adds schedules like `s`, the last one first. */
    const add = (from: number, to: number) =>
      stage.look(
        `insert into layover.schedule
           select q.* from layover.schedule v, generate_series($1::integer, $2::integer) as n,
               jsonb_populate_record(v, jsonb_build_object('name', 's' || to_char(n, 'FM00000'))) as q
            where v.name = 's' order by n desc`,
        [from, to],
      );

    test("is none, where all is well", async () => {
      await declare("server", { a: definition });
      await create("b");
      await create("c", nightly);
      expect(await troubled()).toEqual([]);
    });

    test("is one that has no next instant, though it has a cron pattern; and not one that has fired once", async () => {
      await declare("server", {});
      for (const name of ["a", "b"]) await create(name, nightly);
      await create("once", { ...definition, everyMs: undefined, startAt: undefined, at: next });
      for (const name of ["b", "once"]) await set(name, "next_at = null, fires_at = null, due_at = null");
      expect(await troubled()).toEqual(["b"]);
      const [row] = await stage.look("select layover.why_stopped(v) as why from layover.schedule v where v.name = 'b'");
      expect(row?.["why"]).toMatch(/could not be read when it fired last, and can be read now/);
    });

    test("is one that has skipped three times in a row", async () => {
      await declare("server", {});
      for (const name of ["two", "three"]) await create(name);
      await set("two", "skipped_in_row = 2");
      await set("three", "skipped_in_row = 3");
      expect(await troubled()).toEqual(["three"]);
    });

    test.each([
      ["paused and resumed it", ["pause_schedule", "resume_schedule"]],
      ["triggered it, as from psql without a run's id", ["trigger_schedule"]],
    ] as const)("is none any more once somebody has %s: it counts anew", async (_, calls) => {
      await declare("server", {});
      await create("three");
      await set("three", "skipped_in_row = 3");
      for (const call of calls) await stage.onlooker.call(call, { name: "three", armed: [noon + minute, next] });
      expect(await troubled()).toEqual([]);
    });

    test("is one that two deployments declare in two ways", async () => {
      await declare("server", { a: definition, b: definition });
      await declare("worker", { a: { ...definition, everyMs: 2 * hour }, b: definition });
      expect(await troubled()).toEqual(["a"]);
    });

    test("is one that was due more than five minutes ago", async () => {
      await declare("server", {});
      await create("a");
      await stage.clock.set(next + 5 * minute);
      expect(await troubled()).toEqual([]);
      await stage.clock.set(next + 5 * minute + 1);
      expect(await troubled()).toEqual(["a"]);
    });

    test("is one whose deployment is gone, or whose version nobody carries", async () => {
      await declare("server", { a: definition });
      await declare("worker", { b: definition });
      await create("c", { ...definition, version: 2 });
      await create("d");
      expect(await troubled()).toEqual(["c"]);
      await database.pool.query("delete from layover.deployment where name = 'worker'");
      expect(await troubled()).toEqual(["b", "c"]);
      await database.pool.query("delete from layover.deployment");
      expect(await troubled()).toEqual(["a", "b", "c", "d"]);
    });

    test("is not one that is paused, nor one of another namespace", async () => {
      await declare("server", {});
      await create("a", { ...definition, version: 2 });
      await create("b", { ...definition, version: 2 });
      await create("c", { ...definition, version: 2 }, { namespace: "elsewhere" });
      await stage.onlooker.call("pause_schedule", { name: "a" });
      expect(await troubled()).toEqual(["b"]);
      expect(await troubled("elsewhere")).toEqual(["c"]);
    });

    test("is told by name: the first fifty, of the first ten thousand", async () => {
      await declare("server", {});
      await create("s", { ...definition, version: 2 });
      await add(1, 59);
      const all = await troubled();
      expect(all).toHaveLength(50);
      expect(all.slice(0, 3)).toEqual(["s", "s00001", "s00002"]);
      await stage.look("update layover.schedule set version = 1");
      await add(60, 10_001);
      await stage.look("update layover.schedule set version = 2 where name in ('s09999', 's10000')");
      expect(await troubled()).toEqual(["s09999"]);
    });
  },
  { perTest: true },
);
