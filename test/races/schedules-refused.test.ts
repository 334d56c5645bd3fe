/** Definitions of schedules that are refused, each for its own reason. Nothing is kept of them. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { minute, noon } from "./runs.ts";
import { stageOn } from "./stage.ts";

const hour = 60 * minute;
const year = 365 * 24 * hour;

describeSomePostgres(
  "a schedule is refused",
  (database) => {
    const stage = stageOn(database);
    const definition = { workflow: "flow", version: 1, everyMs: hour, startAt: noon, encodedInput: "0null" };
    const create = (name: string | undefined, more: object) =>
      stage.onlooker.call("create_schedule", { name, definition: { ...definition, ...more }, armed: [noon + hour] });
    const bare = { everyMs: undefined, startAt: undefined };

    const needsName = "its name must have 1 to 100 characters";
    test.each([
      ["none", undefined],
      ["an empty one", ""],
      ["one of 101 characters", "n".repeat(101)],
    ])("for its name: %s", async (_, name) => {
      expect(await create(name, {})).toEqual({ outcome: "invalid", reason: needsName });
      // One reason is told, the first one, though there are others too.
      expect(await create(name, { version: "x", overlap: "odd" })).toEqual({ outcome: "invalid", reason: needsName });
      expect(await stage.look("select name from layover.schedule")).toEqual([]);
    });

    const one = "it needs exactly one of cron, every and at";
    const jitter = "jitter must be whole minutes, and a day at most";
    const every = "every must be from 1 minute to 10 years";
    const together = 'catchUp "all" needs overlap "allow": the runs of missed firings begin together';
    test.each([
      ["no workflow", { workflow: undefined }, "it names no workflow and version"],
      ["no version", { version: undefined }, "it names no workflow and version"],
      ["no calendar", bare, one],
      ["two calendars", { cron: "0 3 * * *" }, one],
      ["three calendars", { cron: "0 3 * * *", at: noon + hour }, one],
      ["a timezone without cron", { timezone: "Europe/Berlin" }, "a timezone goes with cron only"],
      ["a start without every", { everyMs: undefined, cron: "0 3 * * *" }, "startAt goes with every only"],
      ["less than a minute", { everyMs: minute - 1 }, every],
      ["more than ten years", { everyMs: 10 * year + 1 }, every],
      ["a jitter below none", { jitterMs: -minute }, jitter],
      ["a jitter of more than a day", { jitterMs: 24 * hour + minute }, jitter],
      ["a jitter of half minutes", { jitterMs: minute / 2 }, jitter],
      ["another overlap", { overlap: "queue" }, 'overlap must be "skip" or "allow"'],
      ["another way to catch up", { catchUp: "some" }, 'catchUp must be "latest", "all" or "none"'],
      ["all of them, which are to be skipped", { catchUp: "all", overlap: "skip" }, together],
      ["all of them, which are skipped by default", { catchUp: "all" }, together],
    ])("for its definition: %s", async (_, more, reason) => {
      expect(await create("a", more)).toEqual({ outcome: "invalid", reason });
      expect(await stage.look("select name from layover.schedule")).toEqual([]);
    });

    test.each([
      ["a name of 100 characters", "n".repeat(100), {}],
      ["every minute", "a", { everyMs: minute }],
      ["every ten years", "a", { everyMs: 10 * year }],
      ["a jitter of a day", "a", { jitterMs: 24 * hour }],
      ["no jitter", "a", { jitterMs: 0 }],
      ["each of them, which may overlap", "a", { catchUp: "all", overlap: "allow" }],
      ["none that were missed", "a", { catchUp: "none", overlap: "skip" }],
      ["the latest one", "a", { catchUp: "latest" }],
    ])("for nothing at the bound: %s", async (_, name, more) => {
      expect(await create(name, more)).toMatchObject({ outcome: "created", schedule: { name } });
    });
  },
  { perTest: true },
);
