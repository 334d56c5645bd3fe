/** Schedules that the code of several deployments declares: who has them when one of the deployments declares them no more. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { minute, noon } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const hour = 60 * minute;
const next = noon + hour;
const versions = { flow: [1] };

describeSomePostgres(
  "a schedule that several deployments declare",
  (database) => {
    const stage = stageOn(database);
    const definition = { workflow: "flow", version: 1, everyMs: hour, startAt: noon, encodedInput: "0null" };
    const other = { ...definition, everyMs: 2 * hour };

    /** Each call is a build of its own. */
    let builds = 0;
    const declare = (deploymentName: string, schedules: object, by: Session = stage.onlooker, more: object = {}) => {
      builds += 1;
      const build = { deploymentName, deployment: `build ${builds}`, note: "deployed", versions, schedules };
      return by.call("note_deployment", { ...build, armed: [next], ...more });
    };
    const get = (name: string) => stage.onlooker.call("get_schedule", { name });
    const adopt = (owner: string, by: Session = stage.onlooker) =>
      by.call("adopt_schedule", { name: "a", owner, armed: [next] });
    const fire = (armed: number) =>
      stage.onlooker.call("fire_schedules", { names: ["a"], versions, armed: [armed, armed + hour] });
    const leave = (deploymentName: string, deployment = `build ${builds}`) =>
      stage.onlooker.call("note_deployment", { deploymentName, deployment, note: "left" });

    test("goes on with the other one, as it was, when its owner declares it no more", async () => {
      await declare("server", { a: definition });
      await declare("worker", { a: definition });
      await stage.onlooker.call("pause_schedule", { name: "a", by: "ada" });
      const before = await get("a");
      expect(before).toMatchObject({ owner: "server", rivalOwner: null, alsoDeclaredBy: ["worker"] });
      await declare("server", {});
      expect(await get("a")).toEqual({ ...before, owner: "worker", alsoDeclaredBy: [] });
    });

    test("fires each instant once, before and after it was handed over", async () => {
      const overlapping = { ...definition, overlap: "allow" };
      await declare("server", { a: overlapping });
      await declare("worker", { a: overlapping });
      await stage.clock.set(next);
      expect((await fire(next)).runs).toHaveLength(1);
      await declare("server", {});
      expect((await fire(next)).runs).toHaveLength(1); // the same run, whose answer may have been lost
      await stage.clock.set(next + hour);
      await fire(next + hour);
      expect(await get("a")).toMatchObject({ owner: "worker", fired: 2, lastAt: next + hour });
    });

    test("gets the definition of the other one, if that declares something else, and keeps its pause", async () => {
      await declare("server", { a: definition });
      await declare("worker", { a: other });
      await stage.onlooker.call("pause_schedule", { name: "a" });
      await declare("server", {});
      const given = { owner: "worker", rivalOwner: null, definition: { everyMs: 2 * hour }, nextAt: noon + 2 * hour };
      expect(await get("a")).toMatchObject({ ...given, pausedAt: noon, dueAt: null });
    });

    test("goes to one that declares the same, before one that declares something else", async () => {
      await declare("server", { a: definition });
      await declare("first", { a: other });
      await declare("second", { a: definition });
      await declare("server", {});
      expect(await get("a")).toMatchObject({ owner: "second", rivalOwner: "first", alsoDeclaredBy: [] });
    });

    test("that was made at run time is still declared by code, after somebody has changed it", async () => {
      const make = (given: object) =>
        stage.onlooker.call("create_schedule", { name: "a", definition: given, replaces: true, armed: [next] });
      await make(definition);
      await declare("worker", { a: other });
      expect(await make({ ...definition, everyMs: 3 * hour })).toMatchObject({ outcome: "changed" });
      expect(await get("a")).toMatchObject({ owner: null, rivalOwner: "worker" });
    });

    test("is handed over to nobody who does not declare it", async () => {
      await declare("server", { a: definition });
      await declare("worker", { b: definition });
      await declare("server", {});
      expect(await get("a")).toEqual({ outcome: "unknown" });
    });

    test("is taken back in the namespace of whoever declares it no more, and in no other", async () => {
      for (const namespace of ["default", "elsewhere"])
        for (const name of ["server", "worker"]) await declare(name, { a: definition }, stage.onlooker, { namespace });
      await declare("worker", {});
      expect(await get("a")).toMatchObject({ alsoDeclaredBy: [] });
      const elsewhere = await stage.onlooker.call("get_schedule", { name: "a", namespace: "elsewhere" });
      expect(elsewhere).toMatchObject({ alsoDeclaredBy: ["worker"] });
    });

    test("is handed over to nobody whose definition is refused", async () => {
      await declare("server", { a: definition });
      await declare("worker", { a: { ...definition, everyMs: 1 } });
      await declare("server", {});
      expect(await get("a")).toEqual({ outcome: "unknown" });
    });

    test("is deleted with its owner's declaration, if the other one has taken back its own, or is gone", async () => {
      await declare("server", { a: definition, b: definition });
      await declare("worker", { a: definition, b: definition });
      await declare("worker", { b: definition });
      expect(await get("a")).toMatchObject({ alsoDeclaredBy: [] });
      await leave("worker");
      await leave("worker", `build ${builds - 1}`);
      await declare("server", {});
      for (const name of ["a", "b"]) expect(await get(name)).toEqual({ outcome: "unknown" });
    });

    test("is not touched by a deployment that declares many, until it has named all", async () => {
      await declare("server", { a: definition });
      await declare("worker", { a: definition });
      await declare("worker", {}, stage.onlooker, { schedules: undefined, declaresLater: true });
      const page = { deploymentName: "worker", deployment: `build ${builds}`, armed: [next] };
      await stage.onlooker.call("note_deployment", { ...page, note: "declaring", schedules: { b: definition } });
      expect(await get("a")).toMatchObject({ alsoDeclaredBy: ["worker"] });
      const last = { note: "declared", schedules: { c: definition }, names: ["b", "c"] };
      await stage.onlooker.call("note_deployment", { ...page, ...last });
      expect(await get("a")).toMatchObject({ alsoDeclaredBy: [] });
      expect(await get("b")).toMatchObject({ owner: "worker" });
    });

    test("may be adopted by the other one, and back, each as often as somebody asks", async () => {
      await declare("server", { a: definition });
      await declare("worker", { a: definition });
      const { dueAt, nextAt } = await get("a");
      for (const [owner, from] of [
        ["worker", "server"],
        ["server", "worker"],
      ] as const) {
        for (const _ of [1, 2]) {
          expect(await adopt(owner)).toMatchObject({ outcome: "adopted" });
          expect(await get("a")).toMatchObject({ owner, rivalOwner: null, alsoDeclaredBy: [from], dueAt, nextAt });
        }
      }
      await adopt("worker");
      await declare("server", {});
      expect(await get("a")).toMatchObject({ owner: "worker", alsoDeclaredBy: [] });
      await declare("worker", {});
      expect(await get("a")).toEqual({ outcome: "unknown" });
    });

    test("shows the old owner as the rival, once something else was adopted, while that is alive", async () => {
      await declare("server", { a: definition });
      const server = `build ${builds}`;
      await declare("worker", { a: other });
      await adopt("worker");
      expect(await get("a")).toMatchObject({ owner: "worker", rivalOwner: "server" });
      await leave("server", server);
      expect(await get("a")).toMatchObject({ owner: "worker", rivalOwner: null, alsoDeclaredBy: [] });
    });

    test("forgets who is gone when its owner declares it again, and knows them again when they come back", async () => {
      await declare("server", { a: definition });
      await declare("third", { a: definition });
      await declare("worker", { a: definition });
      await leave("worker");
      expect((await declare("server", { a: definition })).schedules).toEqual({ refused: [], invalid: [], passed: [] });
      expect(await adopt("worker")).toMatchObject({
        outcome: "not_applicable",
        schedule: { alsoDeclaredBy: ["third"] },
      });
      await declare("worker", { a: definition });
      expect(await adopt("worker")).toMatchObject({
        outcome: "adopted",
        schedule: { alsoDeclaredBy: ["server", "third"] },
      });
    });

    test("is not deleted by a person while any of them is alive", async () => {
      await declare("server", { a: definition });
      const server = `build ${builds}`;
      await declare("worker", { a: definition });
      await leave("server", server);
      const remove = () => stage.onlooker.call("delete_schedule", { name: "a" });
      expect(await remove()).toMatchObject({ outcome: "declared", schedule: { alsoDeclaredBy: ["worker"] } });
      await leave("worker");
      expect(await remove()).toMatchObject({ outcome: "deleted" });
    });

    test("stays, if the other one declares it while its owner gives it up: before or after", async () => {
      for (const isFirst of [true, false]) {
        await declare("server", { a: definition });
        const gives = (session: Session) => declare("server", {}, session);
        const declares = (session: Session) => declare("worker", { a: definition }, session);
        await stage.collide(isFirst ? { first: gives, second: declares } : { first: declares, second: gives });
        expect(await get("a")).toMatchObject({ owner: "worker", alsoDeclaredBy: [], dueAt: next });
        await declare("worker", {});
      }
    });

    test("is gone if both give it up at once", async () => {
      await declare("server", { a: definition });
      await declare("worker", { a: definition });
      await stage.collide({
        first: (session) => declare("server", {}, session),
        second: (session) => declare("worker", {}, session),
      });
      expect(await get("a")).toEqual({ outcome: "unknown" });
    });

    test("is known to all of them again after the migration: rivals at once, the others when they have declared anew", async () => {
      await declare("server", { a: definition, b: definition });
      await declare("worker", { a: other, b: definition });
      await stage.clock.set(noon + minute);
      await declare("worker", { a: other, b: definition });
      const was = { owner: "worker", definition: other };
      await database.pool.query("update layover.schedule set rival = $1 where name = 'a'", [JSON.stringify(was)]);
      await database.pool.query("alter table layover.schedule drop column declarations");
      await database.pool.query(readFileSync("src/postgres/migrations/0037_declarations_elsewhere.sql", "utf8"));
      expect(await get("a")).toMatchObject({ rivalOwner: "worker" });
      expect(await get("b")).toMatchObject({ alsoDeclaredBy: [] });
      const due = { limit: 10, versions, declares: true };
      const asks = async (deploymentName: string, deployment: string) =>
        (await stage.onlooker.call("list_due", { ...due, deploymentName, deployment })).isUnnoted;
      expect(await asks("worker", `build ${builds}`)).toBe(true);
      expect(await asks("worker", `build ${builds - 1}`)).toBe(false); // the older build
      expect(await asks("server", `build ${builds - 2}`)).toBe(false); // all schedules are its own
      await declare("worker", { a: other, b: definition }, stage.onlooker, { deployment: `build ${builds}` });
      expect(await asks("worker", `build ${builds - 1}`)).toBe(false);
      expect(await get("b")).toMatchObject({ alsoDeclaredBy: ["worker"] });
    });

    test("of another namespace is nobody's here", async () => {
      const elsewhere = { namespace: "elsewhere" };
      await declare("server", { a: definition });
      await declare("server", { a: definition }, stage.onlooker, elsewhere);
      await declare("worker", { a: definition }, stage.onlooker, elsewhere);
      await declare("server", {});
      expect(await get("a")).toEqual({ outcome: "unknown" });
      const there = await stage.onlooker.call("get_schedule", { name: "a", ...elsewhere });
      expect(there).toMatchObject({ owner: "server", alsoDeclaredBy: ["worker"] });
    });
  },
  { perTest: true },
);
