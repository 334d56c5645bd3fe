/** The last instant of a calendar that is fired by some time: at its bounds, with a jitter, and in few looks. */
import { describe, expect, test } from "vitest";
import { describeEachPostgres } from "../postgres/database.ts";

const minute = 60_000;
const noon = Date.UTC(2026, 0, 1, 12);

describeEachPostgres("the last instant by some time", (database) => {
  const hourly = { everyMs: 60 * minute, startAt: noon };
  const ask = async (name: "last_instant" | "jitter_of" | "next_instant", ...values: readonly unknown[]) => {
    const places = values.map((_, index) => `$${index + 1}`).join(", ");
    const { rows } = await database.pool.query({
      text: `select layover.${name}(${places})`,
      values: [...values],
      rowMode: "array",
    });
    return rows[0]?.[0];
  };
  const last = async (definition: object, first: number, until: number) =>
    Number(await ask("last_instant", "a", definition, new Date(first), new Date(until)));

  test.each([
    ["at the first one", 0, 0],
    ["a moment before the second one", 60 * minute - 1, 0],
    ["at the second one", 60 * minute, 60],
    ["a moment after it", 60 * minute + 1, 60],
    ["at the hundredth one", 100 * 60 * minute, 100 * 60],
    ["a moment before that", 100 * 60 * minute - 1, 99 * 60],
  ])("is the right one, asked %s", async (_, ms, minutes) => {
    expect(await last(hourly, noon, noon + ms)).toBe(noon + minutes * minute);
  });

  test("is the first one, though that is put off by its jitter, and any later one only once its jitter is over", async () => {
    const jittered = { ...hourly, jitterMs: 59 * minute };
    const jitterOf = async (at: number) => {
      const { minutes = 0 } = Object(await ask("jitter_of", "a", jittered, new Date(at)));
      return Number(minutes) * minute;
    };
    for (let hour = 1; hour < 40; hour += 1) {
      const at = noon + hour * 60 * minute;
      const firesAt = at + (await jitterOf(at));
      expect(await last(jittered, at, at)).toBe(at);
      expect(await last(jittered, noon, firesAt - 1)).toBe(
        firesAt > at ? at - 60 * minute : noon + (hour - 1) * 60 * minute,
      );
      expect(await last(jittered, noon, firesAt)).toBe(at);
    }
  });

  test.each([
    ["a minute, which leaves no room before the next one", 1, 0],
    ["two minutes", 2, 1],
  ])("is put off within a pattern of %s", async (_, everyMinutes, mostMinutes) => {
    const definition = { everyMs: everyMinutes * minute, startAt: noon, jitterMs: minute };
    const found = new Set<number>();
    for (let count = 0; count < 40; count += 1) {
      const at = new Date(noon + count * everyMinutes * minute);
      found.add(Number(Object(await ask("jitter_of", "a", definition, at))["minutes"] ?? 0));
    }
    expect([...found].sort()).toEqual(mostMinutes === 0 ? [0] : [0, mostMinutes]);
  });

  test("is counted from the first one, or from an instant of a whole minute that the name decides", async () => {
    const first = async (name: string) =>
      Number(await ask("next_instant", name, { everyMs: 60 * minute }, new Date(noon)));
    const instants = [await first("a"), await first("b")];
    expect(new Set(instants).size).toBe(2);
    for (const at of instants) {
      expect(at % minute).toBe(0);
      expect(at - noon).toBeGreaterThan(0);
      expect(at - noon).toBeLessThanOrEqual(60 * minute);
    }
  });

  test("is the same for any number of minutes as by counting", async () => {
    for (const everyMinutes of [1, 2, 7, 59, 61, 1_439]) {
      const definition = { everyMs: everyMinutes * minute, startAt: noon };
      for (const untilMinutes of [0, 1, 58, 59, 60, 61, 1_000, 1_439, 10_000]) {
        const expected = Math.floor(untilMinutes / everyMinutes) * everyMinutes;
        expect(await last(definition, noon, noon + untilMinutes * minute)).toBe(noon + expected * minute);
      }
    }
  });

  describe("of one instant", () => {
    test("comes once: nothing comes after it", async () => {
      const once = { at: noon };
      expect(await ask("next_instant", "a", once, new Date(noon - 1))).toEqual(new Date(noon));
      expect(await ask("next_instant", "a", once, new Date(noon))).toBe(null);
      expect(await last(once, noon, noon + 1_000 * minute)).toBe(noon);
      expect(await ask("jitter_of", "a", { ...once, jitterMs: 5 * minute }, null)).toBe(null);
    });
  });
});
