/** Starts of schedules that fail: what its definition is to blame for is left out, and told; all else raises, and nothing is fired. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aStart, minute, noon } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const hour = 60 * minute;
const next = noon + hour;
const keyId = "01980000-0000-7000-8000-000000000001";
const place = { environment: "production", endpoint: "db/main" };

describeSomePostgres(
  "a schedule",
  (database) => {
    const stage = stageOn(database);
    const definition = { workflow: "flow", version: 1, everyMs: hour, startAt: noon, encodedInput: "0null" };
    const create = (name: string, more: object = {}) =>
      stage.onlooker.call("create_schedule", { name, definition: { ...definition, ...more }, armed: [next] });
    const fire = (names: readonly string[], by: Session = stage.onlooker, more: object = {}) =>
      by.call("fire_schedules", { names, versions: { flow: [1] }, armed: [next + minute, next + hour], ...more });
    const get = (name: string) => stage.onlooker.call("get_schedule", { name });

    test("whose runs Postgres refuses leaves out their instants, says why, and goes on", async () => {
      await create("a", { timeoutMs: 9e18 });
      await stage.clock.set(next);
      expect(await fire(["a"])).toMatchObject({
        runs: [],
        skips: [{ inRow: 1, skip: { cause: "refused", at: next } }],
      });
      expect(await get("a")).toMatchObject({ fired: 0, skipped: 1, lastAt: next, nextAt: next + hour });
      expect(await stage.look("select from layover.run")).toEqual([]);
    });

    test("whose start waits for too long fires nothing, and stays due", async () => {
      await create("a");
      await stage.clock.set(next);
      const other = await stage.session("other");
      await other.begin();
      await other.call("start_run", { ...aStart(), id: "a@2026-01-01T13:00:00Z" });
      const impatient = await stage.session("impatient");
      await impatient.query("set lock_timeout = '20ms'");
      await expect(fire(["a"], impatient)).rejects.toMatchObject({ code: "55P03" });
      await other.rollback();
      expect(await get("a")).toMatchObject({ fired: 0, skipped: 0, dueAt: next });
      expect((await fire(["a"])).runs).toHaveLength(1);
    });

    describe("that is triggered", () => {
      const trigger = (by: Session, more: object) =>
        by.call("trigger_schedule", { name: "a", runId: randomUUID(), armed: [noon + minute], ...more });
      const changes: readonly (readonly [string, object, string, () => Promise<unknown>])[] = [
        ["its key was revoked", { keyId }, "LO005", () => stage.onlooker.call("revoke_key", { keyId })],
        [
          "its namespace was given to another database",
          place,
          "LO010",
          () => stage.look("update layover.environment set identity = 'another'"),
        ],
      ];
      test.each(changes)("while %s is refused for that, and leaves nothing out", async (_, more, code, change) => {
        await create("a");
        await stage.onlooker.call("adopt_environment", place);
        await stage.onlooker.call("create_key", { keyId, name: "shop", scopes: ["admin"] });
        const both = {
          first: (session: Session) => session.query("select from layover.schedule for update"),
          second: (session: Session) => trigger(session, more),
          meanwhile: change,
        };
        await expect(stage.collide(both)).rejects.toMatchObject({ code });
        expect(await get("a")).toMatchObject({ fired: 0, skipped: 0 });
      });

      test("by a call that names no run, as from psql, has started one", async () => {
        await create("a");
        const { runId } = await trigger(stage.onlooker, { runId: undefined });
        expect(runId).toMatch(/^[0-9a-f-]{36}$/);
        expect(await get("a")).toMatchObject({ fired: 1, lastRunId: runId });
      });

      test("twice by the same call has started one run", async () => {
        await create("a");
        const call = { runId: randomUUID() };
        expect(await trigger(stage.onlooker, call)).toMatchObject({ outcome: "triggered", ...call, turn: 1 });
        expect(await trigger(stage.onlooker, call)).toMatchObject({ outcome: "triggered", ...call, turn: null });
        expect(await get("a")).toMatchObject({ fired: 1, skippedInRow: 0, lastFiredAt: noon, lastRunId: call.runId });
      });
    });

    test("is fired by nobody who does not carry its workflow", async () => {
      await create("a");
      await stage.clock.set(next);
      expect(await fire(["a"], stage.onlooker, { versions: { flow: [2] } })).toMatchObject({ runs: [], left: 0 });
      expect(await get("a")).toMatchObject({ fired: 0, dueAt: next });
    });

    test("that somebody has locked, or that is gone, is not listed for the next page", async () => {
      for (const name of ["a", "b", "c"]) await create(name);
      await stage.clock.set(next);
      const holder = await stage.hold("select from layover.schedule where name = 'a' for update");
      const told = await fire(["c", "gone", "b", "a"], stage.onlooker, { listsNext: true, except: ["d"] });
      expect(told).toMatchObject({ left: 2, locked: ["a", "gone"], next: null });
      expect(told.runs.map(({ schedule }) => schedule)).toEqual(["b", "c"]);
      expect(await fire(["a"], stage.onlooker, { listsNext: true })).toMatchObject({ locked: ["a"], next: null });
      await holder.rollback();
    });
  },
  { perTest: true },
);
