/** Schedules that are named alike: a verb moves the one that it names, in its own namespace, and no other. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { minute, noon } from "./runs.ts";
import { stageOn } from "./stage.ts";

const hour = 60 * minute;
const next = noon + hour;
const versions = { flow: [1], other: [1] };
const elsewhere = { namespace: "elsewhere" };

describeSomePostgres(
  "schedules that are named alike",
  (database) => {
    const stage = stageOn(database);
    const definition = { workflow: "flow", version: 1, everyMs: hour, startAt: noon, encodedInput: "0null" };
    /** As from psql: in the namespace "default", if none is named. */
    const own = { namespace: undefined };
    const verb = (name: "pause" | "resume" | "delete" | "trigger" | "adopt", schedule: string, more: object = {}) =>
      stage.onlooker.call(`${name}_schedule`, { ...own, name: schedule, armed: [next + minute], ...more });
    const create = (name: string, more: object = {}, call: object = {}) =>
      stage.onlooker.call("create_schedule", {
        ...own,
        name,
        definition: { ...definition, ...more },
        armed: [next],
        ...call,
      });
    const get = (name: string, more: object = {}) => stage.onlooker.call("get_schedule", { ...own, name, ...more });
    const declare = (deploymentName: string, schedules: object, more: object = {}) =>
      stage.onlooker.call("note_deployment", {
        ...{ deploymentName, deployment: "1", note: "deployed", versions, schedules, armed: [next] },
        ...more,
      });
    const fire = (names: readonly string[], more: object = {}) =>
      stage.onlooker.call("fire_schedules", { names, versions, armed: [next + minute, next + hour], ...more });

    /** `a` of the default namespace, which is declared by code, and others beside it. */
    const some = async () => {
      await declare("server", { a: { ...definition, tags: { is: "mine" } } });
      await declare("server", { a: { ...definition, tags: { is: "elsewhere" } } }, elsewhere);
      await declare("worker", { a: { ...definition, tags: { is: "a rival" } }, b: definition });
      await create("b", { tags: { is: "beside" } }, elsewhere);
      await create("c", { workflow: "other" });
    };
    const isMine = "namespace = 'default' and name = 'a'";
    const rows = (where: string) =>
      stage.look(
        `select to_jsonb(v) - 'declarations' as it from layover.schedule v where ${where} order by namespace, name`,
      );

    const acts: Readonly<Record<string, () => Promise<unknown>>> = {
      "a pause": () => verb("pause", "a"),
      "a trigger": () => verb("trigger", "a", { runId: randomUUID() }),
      "an adoption": () => verb("adopt", "a", { owner: "worker" }),
      "another definition by its code": () => declare("server", { a: { ...definition, everyMs: 2 * hour } }),
      "a build that declares it no more": () => declare("server", {}, { deployment: "2" }),
      "a firing": () => fire(["a"]),
      "a look at it while its workflow is paused": async () => {
        await stage.onlooker.call("pause_workflow", { workflow: "flow", callId: randomUUID() });
        await fire(["a"]);
      },
      "a look at it before its time": async () => {
        await stage.look(`update layover.schedule set fires_at = fires_at + interval '1 minute'`);
        await stage.look(`update layover.schedule set fires_at = fires_at - interval '1 minute' where not (${isMine})`);
        await fire(["a"]);
      },
    };
    test.each(Object.entries(acts))("%s changes one alone", async (_, act) => {
      await some();
      await stage.clock.set(next);
      const [mine, others] = [await rows(isMine), await rows(`not (${isMine})`)];
      await act();
      expect(await rows(`not (${isMine})`)).toEqual(others);
      expect(await rows(isMine)).not.toEqual(mine);
    });

    test("the end of a pause changes one alone", async () => {
      await some();
      for (const more of [{}, elsewhere]) await verb("pause", "a", more);
      await verb("pause", "c");
      const others = await rows(`not (${isMine})`);
      expect(await verb("resume", "a")).toMatchObject({ outcome: "resumed", schedule: { pausedAt: null } });
      expect(await rows(`not (${isMine})`)).toEqual(others);
      expect(await get("a")).toMatchObject({ pausedAt: null, dueAt: next + minute });
    });

    test("a pause or its end, asked for twice, is what it was the first time", async () => {
      await create("a");
      await verb("pause", "a", { by: "ada", reason: "to see" });
      await stage.clock.set(noon + minute);
      const told = await verb("pause", "a", { by: "bob", reason: "to stop" });
      expect(told).toMatchObject({
        outcome: "paused",
        schedule: { pausedAt: noon, pausedBy: "ada", pausedReason: "to see" },
      });
      await verb("resume", "a");
      const resumed = await get("a");
      expect(resumed).toMatchObject({ pausedBy: null, pausedReason: null, dueAt: next + minute });
      await verb("resume", "a", { armed: [next + 2 * minute] });
      expect(await get("a")).toEqual(resumed);
    });

    test("a deletion deletes one alone, with what it knows of its runs", async () => {
      for (const more of [own, elsewhere]) {
        for (const name of ["a", "b"]) {
          await create(name, {}, more);
          await verb("trigger", name, { runId: randomUUID(), armed: [noon + minute], ...more });
        }
      }
      expect(await verb("delete", "a")).toMatchObject({ outcome: "deleted", schedule: null });
      const left = [
        { namespace: "default", name: "b" },
        { namespace: "elsewhere", name: "a" },
        { namespace: "elsewhere", name: "b" },
      ];
      expect(await stage.look("select namespace, name from layover.schedule order by 1, 2")).toEqual(left);
      expect(await stage.look("select namespace, schedule as name from layover.scheduled_run order by 1, 2")).toEqual(
        left,
      );
    });

    test("what is not there is unknown, though another namespace has it", async () => {
      await create("a", {}, elsewhere);
      for (const name of ["pause", "resume", "trigger", "delete", "adopt"] as const)
        expect(await verb(name, "a", { owner: "server" })).toMatchObject({ outcome: "unknown", schedule: null });
      expect(await get("a")).toEqual({ outcome: "unknown" });
      expect(await get("a", elsewhere)).toMatchObject({ name: "a" });
      expect(await create("a", { everyMs: 2 * hour })).toMatchObject({
        outcome: "created",
        schedule: { definition: { everyMs: 2 * hour } },
      });
    });

    test("the answer tells the one that is named", async () => {
      await some();
      const mine = { name: "a", definition: { tags: { is: "mine" } } };
      expect(await get("a")).toMatchObject(mine);
      expect(await verb("pause", "a")).toMatchObject({ schedule: mine });
      expect(await verb("trigger", "a", { runId: randomUUID(), armed: [noon + minute] })).toMatchObject({
        schedule: mine,
      });
      expect(await create("c", { workflow: "other" })).toMatchObject({ outcome: "exists", schedule: { name: "c" } });
    });

    describe("of code", () => {
      test("are not replaced by one that somebody makes, were it the same", async () => {
        await declare("server", { a: definition });
        expect(await create("a", {}, { replaces: true })).toMatchObject({ outcome: "conflict" });
        expect(await create("a", { everyMs: 2 * hour }, { replaces: true })).toMatchObject({ outcome: "conflict" });
        expect(await get("a")).toMatchObject({ owner: "server", definition: { everyMs: hour } });
      });

      test("are the rivals of one deployment until it declares what is there: of that name, in that namespace, and of no other", async () => {
        const [mine, others] = [definition, { ...definition, everyMs: 2 * hour }];
        const rival = async (name: string, more: object = {}) => (await get(name, more)).rivalOwner;
        for (const more of [{}, elsewhere]) {
          await declare("server", { a: mine, b: mine, c: mine }, more);
          await declare("worker", { a: others, b: others, c: mine }, more);
          await declare("third", { c: others }, more);
        }
        await declare("worker", { a: others, b: mine, c: mine });
        expect([await rival("a"), await rival("b"), await rival("c")]).toEqual(["worker", null, "third"]);
        expect([await rival("a", elsewhere), await rival("b", elsewhere)]).toEqual(["worker", "worker"]);
        await declare("worker", { b: { ...mine, everyMs: 3 * hour } });
        const sees = [await rival("a"), await rival("b"), await rival("b", elsewhere)];
        expect(sees).toEqual([null, "worker", "worker"]); // that build declares `a` no more
        const [{ kept } = {}] = await stage.look(
          "select declarations->'worker' as kept from layover.schedule where namespace = 'elsewhere' and name = 'b'",
        );
        expect(kept).toMatchObject({ everyMs: 2 * hour });
      });

      test("are adopted once, by the rival alone, if what it declares can be", async () => {
        await declare("server", { a: definition, b: definition });
        await declare("worker", { a: { ...definition, everyMs: 2 * hour }, b: { ...definition, everyMs: 1 } });
        expect(await verb("adopt", "a", { owner: "server" })).toMatchObject({ outcome: "adopted" });
        expect(await get("a")).toMatchObject({ owner: "server", rivalOwner: "worker" });
        expect(await verb("adopt", "a", { owner: "stranger" })).toMatchObject({ outcome: "not_applicable" });
        expect(await verb("adopt", "a", { owner: "worker" })).toMatchObject({ outcome: "adopted" });
        expect(await verb("adopt", "a", { owner: "worker" })).toMatchObject({ outcome: "adopted" });
        expect(await get("a")).toMatchObject({
          owner: "worker",
          rivalOwner: "server",
          definition: { everyMs: 2 * hour },
        });
        const reason = "every must be from 1 minute to 10 years";
        expect(await verb("adopt", "b", { owner: "worker" })).toMatchObject({ outcome: "invalid", reason });
        expect(await get("b")).toMatchObject({ owner: "server", rivalOwner: "worker" });
      });

      test("are carried, owned and held by what is of their own namespace and workflow", async () => {
        await declare("server", { a: definition });
        await create("b", { version: 2 });
        await create("c", { workflow: "other" });
        await declare("server", { a: { ...definition, version: 2 } }, { ...elsewhere, versions: { flow: [2] } });
        const seen = async (name: string) => {
          const { isCarried, ownerIsLive, workflowIsPaused } = await get(name);
          return { isCarried, ownerIsLive, workflowIsPaused };
        };
        const change = (act: "pause" | "resume", workflow: string, more: object = {}) =>
          stage.onlooker.call(`${act}_workflow`, { workflow, callId: randomUUID(), armed: [next], ...more });
        await change("pause", "other");
        await change("pause", "flow", elsewhere);
        const free = { isCarried: true, ownerIsLive: true, workflowIsPaused: false };
        expect(await seen("a")).toEqual(free);
        expect(await seen("b")).toEqual({ ...free, isCarried: false });
        expect(await seen("c")).toEqual({ ...free, workflowIsPaused: true });
        await change("resume", "other");
        expect(await seen("c")).toEqual(free);
        await database.pool.query("delete from layover.deployment where namespace = 'default'");
        expect(await seen("a")).toEqual({ ...free, isCarried: false, ownerIsLive: false });
        expect(await verb("delete", "a")).toMatchObject({ outcome: "deleted" });
      });
    });

    test("of one definition that two give at once: the second finds what the first one gave", async () => {
      await create("a");
      const [one, other] = await stage.collide({
        first: (session) =>
          session.call("create_schedule", { name: "a", definition: { ...definition, version: 2 }, replaces: true }),
        second: (session) =>
          session.call("create_schedule", { name: "a", definition: { ...definition, version: 2 }, replaces: true }),
      });
      expect([one.outcome, other.outcome]).toEqual(["changed", "exists"]);
    });

    test("of an instant that has passed are not made, and not given to one that is there; the same again changes nothing", async () => {
      const once = (at: number, more: object = {}) => {
        const { everyMs: _, startAt: __, ...rest } = definition;
        const call = { ...own, name: "a", definition: { ...rest, at, ...more }, armed: [next], replaces: true };
        return stage.onlooker.call("create_schedule", call);
      };
      expect(await once(noon)).toMatchObject({ outcome: "invalid", reason: expect.stringContaining("has passed") });
      expect(await get("a")).toEqual({ outcome: "unknown" });
      expect(await once(noon + minute)).toMatchObject({ outcome: "created" });
      await stage.clock.set(noon + minute);
      expect(await once(noon + minute)).toMatchObject({ outcome: "exists" });
      expect(await once(noon + minute, { version: 2 })).toMatchObject({ outcome: "invalid" });
      expect(await get("a")).toMatchObject({ definition: { version: 1, at: noon + minute } });
    });

    describe("are listed", () => {
      const list = async (more: object = {}) => {
        const { schedules, hasMore } = await stage.onlooker.call("list_schedules", { ...own, ...more });
        return [schedules.map(({ name }) => name).join(" "), hasMore];
      };

      test("by name, a page at a time, of one namespace and workflow", async () => {
        await some();
        expect(await list()).toEqual(["a b c", false]);
        expect(await list({ limit: 2 })).toEqual(["a b", true]);
        expect(await list({ limit: 3 })).toEqual(["a b c", false]);
        expect(await list({ limit: 2, after: "b" })).toEqual(["c", false]);
        expect(await list({ workflow: "other" })).toEqual(["c", false]);
        expect(await list(elsewhere)).toEqual(["a b", false]);
        expect(await list({ namespace: "nobody's" })).toEqual(["", false]);
      });

      test("a hundred at a time, unless more are asked for, and five hundred at most", async () => {
        await create("a");
        await stage.look(
          `insert into layover.schedule
             select (jsonb_populate_record(v, jsonb_build_object('name', 'a' || n))).* from layover.schedule v, generate_series(1, 501) as n`,
        );
        const sizes = [];
        for (const more of [{}, { limit: 1_000 }]) {
          const { schedules } = await stage.onlooker.call("list_schedules", { ...own, ...more });
          sizes.push(schedules.length);
        }
        expect(sizes).toEqual([100, 500]);
      });
    });
  },
  { perTest: true },
);
