/** Schedules that two sessions fire, change or declare at once: each instant starts one run, and nobody waits in a circle. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { minute, noon, Run } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const hour = 60 * minute;
const next = noon + hour;

describeSomePostgres(
  "schedules",
  (database) => {
    const stage = stageOn(database);
    const namespace = "default";
    const versions = { flow: [1], other: [1] };
    const definition = { workflow: "flow", version: 1, everyMs: hour, startAt: noon, encodedInput: "0null" };

    const create = (name: string, more: object = {}, by: Session = stage.onlooker) =>
      by.call("create_schedule", { name, definition: { ...definition, ...more }, armed: [next] });
    const fire = (names: readonly string[], by: Session = stage.onlooker, more: object = {}) =>
      by.call("fire_schedules", { names, versions, armed: [next + minute, next + hour], ...more });
    const get = (name: string) => stage.onlooker.call("get_schedule", { name });
    const declare = (
      schedules: object,
      by: Session = stage.onlooker,
      deploymentName = "server",
      deployment = "a",
      more: object = {},
    ) =>
      by.call("note_deployment", {
        deploymentName,
        deployment,
        note: "deployed",
        versions,
        schedules,
        armed: [noon + minute],
        ...more,
      });
    const runsOf = async () =>
      (await stage.look("select user_id from layover.run where namespace = $1 order by user_id", [namespace])).map(
        ({ user_id }) => user_id,
      );
    /** Makes schedules, and lets their first instant come. */
    const due = async (...names: readonly string[]) => {
      for (const name of names) await create(name);
      await stage.clock.set(next);
    };

    test("fire once when two ticks fire them at once: the later one leaves out what is locked", async () => {
      await due("a", "b");
      const first = await stage.session("first");
      await first.begin();
      expect((await fire(["a"], first)).runs).toHaveLength(1);
      const second = await fire(["a", "b"]);
      expect(second).toMatchObject({ left: 1, runs: [{ schedule: "b" }] });
      await first.end("commit");
      expect(await runsOf()).toEqual(["a@2026-01-01T13:00:00Z", "b@2026-01-01T13:00:00Z"]);
    });

    test("answer the same runs when the call that fired them is sent again, until these are claimed", async () => {
      await due("a");
      const { runs } = await fire(["a"]);
      expect((await fire(["a"])).runs).toEqual(runs);
      const [run] = runs;
      await new Run(stage, run?.runId ?? "").claim(stage.onlooker, { token: "t" });
      expect((await fire(["a"])).runs).toEqual([]);
      expect(await runsOf()).toHaveLength(1);
    });

    test("answer all runs that they have caught up with when that call is sent again, but for those that are claimed", async () => {
      await create("a", { overlap: "allow", catchUp: "all" });
      await create("b", { overlap: "allow" });
      await stage.clock.set(next + 2 * hour);
      const armed = { armed: [next + 2 * hour + minute, next + 3 * hour] };
      const { runs } = await fire(["a", "b"], stage.onlooker, armed);
      expect(runs.map(({ at }: { readonly at: number }) => at)).toEqual(
        [0, 1, 2, 2].map((hours) => next + hours * hour),
      );
      expect((await fire(["a", "b"], stage.onlooker, armed)).runs).toEqual(runs);
      await new Run(stage, runs[1]?.runId ?? "").claim(stage.onlooker, { token: "t" });
      expect((await fire(["a"], stage.onlooker, armed)).runs).toEqual([runs[0], runs[2]]);
    });

    test("are fired by nothing that comes too late", async () => {
      await due("a");
      await expect(fire(["a"], stage.onlooker, { notAfter: next - 1 })).rejects.toMatchObject({ code: "LO002" });
      expect(await runsOf()).toEqual([]);
      expect((await get("a")).dueAt).toBe(next);
    });

    test("are due at an instant that the call has armed", async () => {
      await due("a");
      await fire(["a"]);
      expect(await get("a")).toMatchObject({ nextAt: next + hour, dueAt: next + hour });
      await stage.clock.set(next + hour);
      await fire(["a"], stage.onlooker, { armed: [next + hour + minute] });
      expect(await get("a")).toMatchObject({ nextAt: next + 2 * hour, dueAt: next + hour + minute });
    });

    test("start no more than a thousand runs at once, and leave the others to the next tick", async () => {
      const many = Array.from({ length: 12 }, (_, index) => `many ${String(index + 10)}`);
      for (const name of many) await create(name, { everyMs: minute, overlap: "allow", catchUp: "all" });
      await stage.clock.set(noon + 3 * hour);
      const { runs, left } = await fire(many);
      expect([runs.length, left]).toEqual([1_000, 2]);
      expect((await fire(many.slice(10))).runs).toHaveLength(200);
    });

    test.each([
      ["everyMs: 60000.5", { everyMs: 60_000.5 }],
      ["at before all time", { everyMs: undefined, startAt: undefined, at: -8.64e15 }],
      ["version: x", { version: "x" }],
      ["jitterMs: x", { jitterMs: "x" }],
    ])("are refused, and nothing else is, if a number of theirs is none: %s", async (_, more) => {
      const reason = "one of its numbers is none, or too large";
      expect(await create("odd", more)).toMatchObject({ outcome: "invalid", reason });
      const told = await declare({ fine: definition, odd: { ...definition, ...more } });
      expect(told.schedules).toEqual({ refused: [], invalid: [{ name: "odd", reason }], passed: [] });
      expect(await get("fine")).toMatchObject({ owner: "server" });
    });

    describe("that somebody changes while a tick fires them", () => {
      test("are fired, and then paused", async () => {
        await due("a");
        await stage.collide({
          first: (session) => fire(["a"], session),
          second: (session) => session.call("pause_schedule", { name: "a" }),
        });
        expect(await get("a")).toMatchObject({ fired: 1, nextAt: next + hour, dueAt: null });
      });

      test("are not fired once they are paused", async () => {
        await due("a");
        const person = await stage.session("person");
        await person.begin();
        await person.call("pause_schedule", { name: "a" });
        expect(await fire(["a"])).toMatchObject({ runs: [], left: 1 });
        await person.end("commit");
        expect(await fire(["a"])).toMatchObject({ runs: [], left: 0 });
      });

      test("stay paused when their code is changed", async () => {
        await declare({ a: definition });
        await stage.onlooker.call("pause_schedule", { name: "a" });
        await declare({ a: { ...definition, everyMs: 2 * hour } }, stage.onlooker, "server", "b");
        expect(await get("a")).toMatchObject({ nextAt: noon + 2 * hour, pausedAt: noon, dueAt: null });
      });

      test("are fired once, and then get their new calendar", async () => {
        await declare({ a: definition });
        await stage.clock.set(next);
        await stage.collide({
          first: (session) => fire(["a"], session),
          second: (session) => declare({ a: { ...definition, everyMs: 2 * hour } }, session, "server", "b"),
        });
        expect(await get("a")).toMatchObject({ fired: 1, nextAt: noon + 2 * hour });
        expect(await runsOf()).toEqual(["a@2026-01-01T13:00:00Z"]);
      });

      test("are fired, and then deleted", async () => {
        await due("a");
        const [, told] = await stage.collide({
          first: (session) => fire(["a"], session),
          second: (session) => session.call("delete_schedule", { name: "a" }),
        });
        expect(told.outcome).toBe("deleted");
        expect(await runsOf()).toHaveLength(1);
      });

      test("are fired once, and a trigger that waited for that is left out", async () => {
        await due("a");
        const [, told] = await stage.collide({
          first: (session) => fire(["a"], session),
          second: (session) =>
            session.call("trigger_schedule", { name: "a", runId: randomUUID(), armed: [next + minute] }),
        });
        expect(told).toMatchObject({ outcome: "skipped", skip: { cause: "overlap" } });
      });
    });

    describe("whose workflow is paused and resumed while a tick fires them", () => {
      const change = (verb: "pause" | "resume", by: Session = stage.onlooker) =>
        by.call(`${verb}_workflow`, { workflow: "flow", callId: randomUUID(), armed: [next + minute] });

      test("are looked at again, since the resume waits for the firing that saw the pause", async () => {
        await due("a", "b");
        await change("pause");
        await stage.collide({
          first: (session) => fire(["a", "b"], session),
          second: (session) => change("resume", session),
        });
        expect((await get("a")).dueAt).toBe(next + minute);
        expect((await get("b")).dueAt).toBe(next + minute);
      });

      test("are left to the next tick by one that comes while the resume is under way", async () => {
        await due("a");
        await change("pause");
        const person = await stage.session("person");
        await person.begin();
        await change("resume", person);
        expect(await fire(["a"])).toMatchObject({ runs: [], left: 1 });
        await person.end("commit");
        await stage.clock.set(next + minute);
        expect((await fire(["a"])).runs).toHaveLength(1);
      });
    });

    test("deadlock with no resume of their workflow if one is made, and changed, amid it: the same resume again comes to it", async () => {
      const [maker, changer, person] = [
        await stage.session("maker"),
        await stage.session("changer"),
        await stage.session("person"),
      ];
      const resume = { workflow: "flow", callId: randomUUID(), armed: [next + minute] };
      await stage.onlooker.call("pause_workflow", { workflow: "flow", callId: randomUUID() });
      await maker.begin();
      await create("a", {}, maker);
      const changed = create("a", { everyMs: 2 * hour }, changer);
      await changer.untilBlocked(maker);
      const resumed = person.call("resume_workflow", resume);
      await person.untilBlocked(maker);
      await maker.end("commit");
      expect((await changed).outcome).toBe("conflict");
      expect(await resumed).toMatchObject({ outcome: "resumed" });
      expect(await stage.onlooker.call("resume_workflow", resume)).toMatchObject({ isCertain: true });
      expect((await get("a")).dueAt).toBe(next + minute);
    });

    describe("of one name that two make at once", () => {
      test("are one: the second is told that it exists, or that it differs", async () => {
        const [made, same] = await stage.collide({
          first: (session) => create("a", {}, session),
          second: (session) => create("a", {}, session),
        });
        expect([made.outcome, same.outcome]).toEqual(["created", "exists"]);
        const [, other] = await stage.collide({
          first: (session) => create("b", {}, session),
          second: (session) => create("b", { everyMs: 2 * hour }, session),
        });
        expect(other.outcome).toBe("conflict");
      });

      test("belong to the deployment that was first, and the other is refused", async () => {
        const [, told] = await stage.collide({
          first: (session) => declare({ a: definition, b: definition }, session),
          second: (session) =>
            declare({ b: { ...definition, everyMs: 2 * hour }, c: definition }, session, "other", "x"),
        });
        expect(told.schedules).toMatchObject({ refused: [{ name: "b", owner: "server" }], invalid: [] });
        expect(await get("b")).toMatchObject({ owner: "server", rivalOwner: "other" });
        expect(await get("c")).toMatchObject({ owner: "other" });
      });

      test("of one deployment are what the build says that was noted last", async () => {
        await stage.collide({
          first: (session) => declare({ a: definition, b: definition }, session),
          second: (session) => declare({ b: { ...definition, everyMs: 2 * hour } }, session, "server", "b"),
        });
        expect(await get("b")).toMatchObject({ definition: { everyMs: 2 * hour } });
        expect(await get("a")).toMatchObject({ outcome: "unknown" });
      });

      test("of one deployment stay as its newer build says, though a process of the older one begins meanwhile", async () => {
        await declare({ b: definition });
        await stage.clock.set(noon + minute);
        const newer = { b: { ...definition, everyMs: 2 * hour } };
        await stage.collide({
          first: (session) => declare(newer, session, "server", "b"),
          second: (session) => declare({ b: definition }, session, "server", "a", { isStart: true }),
        });
        expect(await get("b")).toMatchObject({ definition: newer.b });
      });
    });
  },
  { perTest: true },
);
