import { expect, test } from "vitest";
import { describeEachPostgres } from "../postgres/database.ts";

const patterns = {
  "": "it has 0 fields, and needs 5: minute, hour, day of month, month, day of week",
  "* * * *": "it has 4 fields, and needs 5: minute, hour, day of month, month, day of week",
  "0 0 * * * *":
    "it has 6 fields, and needs 5: minute, hour, day of month, month, day of week. There is none for seconds, nor for years",
  "@reboot": "it is no nickname that is known: write @hourly, @daily, @weekly, @monthly or @yearly, or five fields",
  "60 * * * *": "the minute 60 is out of range: write 0 to 59",
  "* 24 * * *": "the hour 24 is out of range: write 0 to 23",
  "* * 0 * *": "the day of month 0 is out of range: write 1 to 31",
  "* * 32 * *": "the day of month 32 is out of range: write 1 to 31",
  "* * * 13 *": "the month 13 is out of range: write 1 to 12, or jan to dec",
  "* * * foo *": 'the month "foo" is not known: write 1 to 12, or jan to dec',
  "* * * * 8": "the day of week 8 is out of range: write 0 to 7, or sun to sat",
  "* * * * mon-monday": 'the day of week "monday" is not known: write 0 to 7, or sun to sat',
  "* mon * * *": 'the hour "mon" is not known: write 0 to 23',
  "0 0 L * *": 'the day of month "l" is not known: write 1 to 31',
  "0 0 * * fri#2":
    'the day of week "fri#2" cannot be read: write *, 0 to 7, or sun to sat, a list of these (1,2), a range (1-5) or a step (*/5)',
  "? * * * *": 'the minute "?" cannot be read: write *, 0 to 59, a list of these (1,2), a range (1-5) or a step (*/5)',
  "1,,2 * * * *":
    'the minute "" cannot be read: write *, 0 to 59, a list of these (1,2), a range (1-5) or a step (*/5)',
  "-1 * * * *":
    'the minute "-1" cannot be read: write *, 0 to 59, a list of these (1,2), a range (1-5) or a step (*/5)',
  "99999999999 * * * *":
    'the minute "99999999999" cannot be read: write *, 0 to 59, a list of these (1,2), a range (1-5) or a step (*/5)',
  "*/0 * * * *": 'the minute "*/0" has a step of 0, which must be 1 to 60',
  "*/90 * * * *": 'the minute "*/90" has a step of 90, which must be 1 to 60',
  "* * * * */8": 'the day of week "*/8" has a step of 8, which must be 1 to 7',
  "5/15 * * * *": 'the minute "5/15" has a step and no range: write 5-59/15',
  "5-0 * * * *": 'the minute "5-0" is a range that goes backwards: write 5-59,0-0',
  "* 22-2 * * *": 'the hour "22-2" is a range that goes backwards: write 22-23,0-2',
  "* * * * fri-mon": 'the day of week "fri-mon" is a range that goes backwards: write 5-6,0-1',
  [`${"1,".repeat(122)}1 * * * *`]: "it has 253 characters, and may have 250",
};

describeEachPostgres("a pattern that cannot be read", (database) => {
  const check = async (cron: string | null, timezone: string | null) => {
    const { rows } = await database.pool.query("select layover.check_calendar($1, $2) as problem", [cron, timezone]);
    return rows[0].problem;
  };

  test.each(Object.entries(patterns))("%s", async (cron, problem) => {
    expect(await check(cron, "UTC")).toBe(`the cron pattern "${cron.slice(0, 60)}" cannot be read: ${problem}`);
  });

  test("a pattern of 250 characters is read", async () => {
    expect(await check(`${"1,".repeat(120)}10 * * * *`, "UTC")).toBeNull();
  });

  test("null is a pattern without fields", async () => {
    expect(await check(null, "UTC")).toContain("it has 0 fields");
  });

  test.each(["0 0 31 2 *", "0 0 30,31 2 *", "0 0 31 2,4,6,9,11 *"])(
    "%s is refused, as it never fires",
    async (cron) => {
      expect(await check(cron, "Europe/Berlin")).toBe(`the cron pattern "${cron}" does not fire in the next 10 years`);
    },
  );

  test.each([
    "UTC",
    "utc",
    "Europe/Berlin",
    "America/Argentina/Buenos_Aires",
    "America/Port-au-Prince",
    "Etc/GMT-14",
    "Etc/UTC",
  ])("the timezone %s is known", async (timezone) => {
    expect(await check("0 0 29 2 *", timezone)).toBeNull();
  });

  test.each([
    null,
    "",
    "Mars/Phobos",
    "CET", // to Postgres an abbreviation of a fixed offset
    "EST5EDT",
    "Moon/Base5", // to Postgres five hours behind UTC
    "Etc/GMT+13",
    "+01:00",
    "posix/Europe/Berlin",
    "../../etc/passwd",
    "Europe/Berlin\n",
    `${"a".repeat(70)}/b`,
  ])("the timezone %j is refused", async (timezone) => {
    const name = (timezone ?? "").slice(0, 60);
    const problem = `there is no timezone "${name}": write UTC, or a place such as Europe/Berlin`;
    expect(await check("* * * * *", timezone)).toBe(problem);
    const { rows } = await database.pool.query("select layover.next_firing('* * * * *', $1, '2026-01-01Z') as at", [
      timezone,
    ]);
    expect(rows).toEqual([{ at: null }]);
  });
});
