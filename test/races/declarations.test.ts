/** Schedules that code declares while others hold, take over or change them. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { minute, noon } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const hour = 60 * minute;
const next = noon + hour;

describeSomePostgres(
  "a declaration of schedules",
  (database) => {
    const stage = stageOn(database);
    const definition = { workflow: "flow", version: 1, everyMs: hour, startAt: noon, encodedInput: "0null" };
    const other = { ...definition, everyMs: 2 * hour };

    const declare = (deploymentName: string, schedules: object, by: Session = stage.onlooker, more: object = {}) =>
      by.call("note_deployment", {
        ...{ deploymentName, deployment: "1", note: "deployed", versions: { flow: [1] }, schedules, armed: [next] },
        ...more,
      });
    const pause = (name: string, by: Session) => by.call("pause_schedule", { name });
    const get = (name: string) => stage.onlooker.call("get_schedule", { name });
    /** A session that gives up soon where it has to wait for another one. */
    const impatient = async () => {
      const session = await stage.session("impatient");
      await session.query("set lock_timeout = '5s'");
      return session;
    };

    test("waits for nobody who holds a schedule of another deployment", async () => {
      await declare("server", { a: definition });
      await declare("worker", { b: definition, c: definition });
      const holder = await stage.session("holder");
      await holder.begin();
      await pause("a", holder);
      const build = { deployment: "2" };
      expect(await declare("worker", { b: other }, await impatient(), build)).toMatchObject({
        schedules: { refused: [], invalid: [], passed: [] },
      });
      expect(await get("c")).toEqual({ outcome: "unknown" });
      await holder.end("commit");
      expect(await get("a")).toMatchObject({ owner: "server" });
    });

    test("waits by name: while it waits for the first one, it holds none that comes later", async () => {
      await declare("server", { a: definition, b: definition });
      const holder = await stage.session("holder");
      await holder.begin();
      await pause("a", holder);
      const declarer = await stage.session("declarer");
      const declared = declare("server", { a: other, b: other }, declarer, { deployment: "2" });
      await declarer.untilBlocked(holder);
      expect(await pause("b", await impatient())).toMatchObject({ outcome: "paused" });
      await holder.end("commit");
      await declared;
      for (const name of ["a", "b"]) expect(await get(name)).toMatchObject({ definition: { everyMs: 2 * hour } });
    });

    test("does not delete what another deployment adopts meanwhile", async () => {
      await declare("server", { a: definition });
      await declare("worker", { a: other });
      await stage.collide({
        first: (session) => session.call("adopt_schedule", { name: "a", owner: "worker", armed: [next] }),
        second: (session) => declare("server", {}, session, { deployment: "2" }),
      });
      expect(await get("a")).toMatchObject({ owner: "worker", definition: { everyMs: 2 * hour } });
    });

    test("of the same with an input that a new key encrypts stores that in its own namespace alone", async () => {
      const by = (key: string) => ({ a: { ...definition, sent: "mac", encodedInput: `0"by ${key}"` } });
      for (const namespace of ["default", "elsewhere"])
        await declare("server", by("k1"), stage.onlooker, { namespace });
      await declare("server", by("k2"), stage.onlooker, { deployment: "2" });
      expect(
        await stage.look("select namespace, definition->>'encodedInput' as input from layover.schedule order by 1"),
      ).toEqual([
        { namespace: "default", input: '0"by k2"' },
        { namespace: "elsewhere", input: '0"by k1"' },
      ]);
    });

    describe("tells of those whose one instant had passed", () => {
      const once = (at: number) => ({ workflow: "flow", version: 1, at, encodedInput: "0null" });
      const late = once(noon - minute);
      const passedOf = async (...call: Parameters<typeof declare>) => (await declare(...call)).schedules?.passed;

      test("all that it declares, by name", async () => {
        expect(await passedOf("server", { z: late, a: once(noon - hour), b: definition })).toEqual([
          { name: "a", at: noon - hour },
          { name: "z", at: noon - minute },
        ]);
      });

      test("none of another namespace, or of another owner", async () => {
        await declare("server", { a: late, b: late }, stage.onlooker, { namespace: "elsewhere" });
        await declare("worker", { b: late });
        expect(await passedOf("server", { a: definition, b: definition })).toEqual([]);
      });

      test("none that it declared with another call", async () => {
        await declare("server", { a: late });
        const more = { note: "declaring", schedules: { b: definition } };
        expect(await passedOf("server", {}, stage.onlooker, more)).toEqual([]);
      });

      test("none that has stopped for another reason", async () => {
        const nightly = { workflow: "flow", version: 1, cron: "0 3 * * *", timezone: "UTC", encodedInput: "0null" };
        await declare("server", { a: nightly });
        await stage.onlooker.query(
          "update layover.schedule set next_at = null, fires_at = null, due_at = null, last_at = layover.now()",
        );
        const build = { deployment: "2" };
        const { schedules } = await declare(
          "server",
          { a: { ...nightly, timezone: "Mars/Olympus" } },
          stage.onlooker,
          build,
        );
        expect(schedules).toMatchObject({ invalid: [{ name: "a" }], passed: [] });
      });
    });

    test("of another version is what the schedule starts from then on, and leaves its pause", async () => {
      await declare("server", { a: definition });
      await stage.onlooker.call("pause_schedule", { name: "a" });
      await stage.clock.set(noon + minute);
      await declare("server", { a: { ...definition, version: 7 } }, stage.onlooker, { deployment: "2" });
      expect(await get("a")).toMatchObject({
        definition: { version: 7 },
        isCarried: false,
        pausedAt: noon,
        dueAt: null,
        createdAt: noon,
        changedAt: noon + minute,
      });
    });

    test("holds a schedule as long as its own deployment lives, whatever others do", async () => {
      await declare("server", { a: definition });
      await declare("worker", { b: definition });
      await database.pool.query("delete from layover.deployment where name = 'server'");
      expect([(await get("a")).ownerIsLive, (await get("b")).ownerIsLive]).toEqual([false, true]);
      const remove = (name: string) => stage.onlooker.call("delete_schedule", { name });
      expect(await remove("a")).toMatchObject({ outcome: "deleted" });
      expect(await remove("b")).toMatchObject({ outcome: "declared" });
    });

    test("leaves what its code could not read as it was, and says nothing of it", async () => {
      await declare("server", { a: definition });
      const told = await declare("server", { a: null, b: null, c: definition }, stage.onlooker, { deployment: "2" });
      expect(told.schedules).toEqual({ refused: [], invalid: [], passed: [] });
      expect(await get("a")).toMatchObject({ owner: "server", definition: { everyMs: hour } });
      expect(await get("b")).toEqual({ outcome: "unknown" });
      expect(await get("c")).toMatchObject({ owner: "server" });
    });
  },
  { perTest: true },
);
