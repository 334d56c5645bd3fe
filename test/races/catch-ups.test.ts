/** Schedules whose instants have passed while nobody looked: what is started, what is left out, and what is said of it. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { minute, noon } from "./runs.ts";
import { stageOn } from "./stage.ts";

const hour = 60 * minute;
const next = noon + hour;

describeSomePostgres(
  "a schedule that has missed instants",
  (database) => {
    const stage = stageOn(database);
    const definition = { workflow: "flow", version: 1, everyMs: hour, startAt: noon, encodedInput: "0null" };
    const create = (more: object) =>
      stage.onlooker.call("create_schedule", { name: "a", definition: { ...definition, ...more }, armed: [next] });
    /** Fires it at that instant, and answers what the call and the schedule say then, but for ids. */
    const fireAt = async (at: number) => {
      await stage.clock.set(at);
      const { runs, skips, stopped } = await stage.onlooker.call("fire_schedules", {
        ...{ names: ["a"], versions: { flow: [1] }, armed: [at + minute, at + 30 * hour] },
      });
      const schedule = await stage.onlooker.call("get_schedule", { name: "a" });
      const { fired, skipped, skippedInRow, lastSkip, lastAt, nextAt, lastRunId } = schedule;
      expect(stopped).toEqual([]);
      if (runs.length > 0) expect(lastRunId).toBe(runs.at(-1)?.runId);
      const started = runs.map((run: { readonly at: number }) => run.at);
      return { started, skips, fired, skipped, skippedInRow, lastSkip, lastAt, nextAt };
    };
    const missed = (at: number) => ({ cause: "missed", at });

    test("starts the last one, and counts the others as one skip", async () => {
      await create({});
      expect(await fireAt(next + 3 * hour + minute)).toEqual({
        started: [next + 3 * hour],
        skips: [{ schedule: "a", inRow: 1, skip: missed(next) }],
        ...{ fired: 1, skipped: 1, skippedInRow: 0, lastSkip: missed(next) },
        ...{ lastAt: next + 3 * hour, nextAt: next + 4 * hour },
      });
    });

    test("starts the only one, however late, and skips none", async () => {
      await create({});
      expect(await fireAt(next + 59 * minute)).toEqual({
        ...{ started: [next], skips: [], fired: 1, skipped: 0, skippedInRow: 0, lastSkip: null },
        ...{ lastAt: next, nextAt: next + hour },
      });
    });

    test("of its only instant starts one, and then fires no more", async () => {
      await create({ everyMs: undefined, startAt: undefined, at: next });
      const told = { started: [next], skips: [], fired: 1, skipped: 0, skippedInRow: 0, lastSkip: null, lastAt: next };
      expect(await fireAt(next + hour)).toEqual({ ...told, nextAt: null });
      expect(await fireAt(next + 2 * hour)).toMatchObject({ started: [], fired: 1, skipped: 0, nextAt: null });
    });

    test("counts from an instant that its name decides, where it says none, in whole minutes", async () => {
      const nextOf = async (name: string) => {
        const given = { ...definition, startAt: undefined };
        await stage.onlooker.call("create_schedule", { name, definition: given, armed: [next] });
        return Number((await stage.onlooker.call("get_schedule", { name })).nextAt);
      };
      const [a, b, c] = [await nextOf("some"), await nextOf("other"), await nextOf("third")];
      for (const at of [a, b, c]) {
        expect(at % minute).toBe(0);
        expect(at > noon && at <= next).toBe(true);
      }
      expect(new Set([a, b, c]).size).toBe(3);
    });

    test.each([
      ["default", {}],
      ["name", { catchUp: "latest" }],
    ])("starts the last one by %s", async (_, more) => {
      await create(more);
      expect(await fireAt(next + hour)).toMatchObject({ started: [next + hour], skipped: 1 });
    });

    describe("with catchUp none", () => {
      const none = { catchUp: "none" };

      test("starts one that is five minutes late, and none that is later", async () => {
        await create(none);
        expect(await fireAt(next + 5 * minute)).toMatchObject({ started: [next], skips: [], skipped: 0 });
        expect(await fireAt(next + hour + 5 * minute + 1)).toEqual({
          started: [],
          skips: [{ schedule: "a", inRow: 1, skip: missed(next + hour) }],
          ...{ fired: 1, skipped: 1, skippedInRow: 1, lastSkip: missed(next + hour) },
          ...{ lastAt: next + hour, nextAt: next + 2 * hour },
        });
      });

      test("counts all that it missed as one skip", async () => {
        await create(none);
        expect(await fireAt(next + 3 * hour + 30 * minute)).toEqual({
          started: [],
          skips: [{ schedule: "a", inRow: 1, skip: missed(next) }],
          ...{ fired: 0, skipped: 1, skippedInRow: 1, lastSkip: missed(next) },
          ...{ lastAt: next + 3 * hour, nextAt: next + 4 * hour },
        });
      });

      test("starts the last one if that has just come, and counts the others as one skip", async () => {
        await create(none);
        expect(await fireAt(next + 3 * hour + minute)).toMatchObject({
          started: [next + 3 * hour],
          skips: [{ inRow: 1, skip: missed(next) }],
          ...{ fired: 1, skipped: 1, skippedInRow: 0 },
        });
      });
    });

    describe("with catchUp all", () => {
      const all = { everyMs: minute, overlap: "allow", catchUp: "all" };

      test("starts each", async () => {
        await create(all);
        const told = await fireAt(noon + 100 * minute);
        expect(told.started).toEqual(Array.from({ length: 100 }, (_, index) => noon + (index + 1) * minute));
        expect(told).toMatchObject({ skips: [], fired: 100, skipped: 0, lastSkip: null, nextAt: noon + 101 * minute });
      });

      test("starts a hundred, and counts what comes after them as one skip", async () => {
        await create(all);
        const told = await fireAt(noon + 102 * minute);
        expect(told.started).toEqual(Array.from({ length: 100 }, (_, index) => noon + (index + 1) * minute));
        const skip = missed(noon + 101 * minute);
        expect(told).toMatchObject({
          skips: [{ schedule: "a", inRow: 1, skip }],
          ...{ fired: 100, skipped: 1, skippedInRow: 1, lastSkip: skip },
          ...{ lastAt: noon + 102 * minute, nextAt: noon + 103 * minute },
        });
      });
    });
  },
  { perTest: true },
);
