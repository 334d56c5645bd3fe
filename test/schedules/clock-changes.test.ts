import { expect, test } from "vitest";
import { describeEachPostgres } from "../postgres/database.ts";

/** A pattern, a timezone, the instant after which it is asked for, and all firings up to and with the first on the next day or so. */
type Case = readonly [what: string, cron: string, timezone: string, after: string, firings: readonly string[]];

const cases: readonly Case[] = [
  // Berlin, 29 March 2026: 02:00 is followed by 03:00 (01:00Z).
  [
    "a fixed time in a gap fires once, as the gap ends",
    "30 2 * * *",
    "Europe/Berlin",
    "2026-03-28T12:00Z",
    ["2026-03-29T01:00Z", "2026-03-30T00:30Z"],
  ],
  [
    "several fixed times in a gap fire once together",
    "0,15,30 2,3 * * *",
    "Europe/Berlin",
    "2026-03-28T12:00Z",
    ["2026-03-29T01:00Z", "2026-03-29T01:15Z", "2026-03-29T01:30Z", "2026-03-30T00:00Z"],
  ],
  [
    "an hourly pattern fires each real hour through a gap",
    "30 * * * *",
    "Europe/Berlin",
    "2026-03-28T23:40Z",
    ["2026-03-29T00:30Z", "2026-03-29T01:30Z", "2026-03-29T02:30Z"],
  ],
  [
    "a quarterly pattern fires each real quarter through a gap",
    "*/15 * * * *",
    "Europe/Berlin",
    "2026-03-29T00:30Z",
    ["2026-03-29T00:45Z", "2026-03-29T01:00Z", "2026-03-29T01:15Z"],
  ],
  [
    "a step in an hour that is skipped does not fire that day",
    "*/30 2 * * *",
    "Europe/Berlin",
    "2026-03-28T12:00Z",
    ["2026-03-30T00:00Z", "2026-03-30T00:30Z"],
  ],
  // Berlin, 25 October 2026: 02:59 (00:59Z) is followed by 02:00 (01:00Z).
  [
    "a fixed time in a fold fires at the first of two",
    "30 2 * * *",
    "Europe/Berlin",
    "2026-10-24T12:00Z",
    ["2026-10-25T00:30Z", "2026-10-26T01:30Z"],
  ],
  [
    "a fixed time that was asked for amid a fold waits for the next day",
    "15 2 * * *",
    "Europe/Berlin",
    "2026-10-25T00:40Z",
    ["2026-10-26T01:15Z"],
  ],
  [
    "a fixed time at the end of a fold fires once",
    "0 3 * * *",
    "Europe/Berlin",
    "2026-10-25T00:59Z",
    ["2026-10-25T02:00Z", "2026-10-26T02:00Z"],
  ],
  [
    "a fixed time that comes again in a fold does not fire again",
    "15 2 * * *",
    "Europe/Berlin",
    "2026-10-25T01:05Z",
    ["2026-10-26T01:15Z"],
  ],
  [
    "a fixed time after a fold fires, asked for within it",
    "0 3 * * *",
    "Europe/Berlin",
    "2026-10-25T01:30Z",
    ["2026-10-25T02:00Z"],
  ],
  [
    "a range fires in both hours of a fold",
    "30 1-3 * * *",
    "Europe/Berlin",
    "2026-10-24T22:30Z",
    ["2026-10-24T23:30Z", "2026-10-25T00:30Z", "2026-10-25T01:30Z", "2026-10-25T02:30Z", "2026-10-26T00:30Z"],
  ],
  [
    "the rule holds for the years that a zone's file tells by a rule",
    "30 2 * * *",
    "America/New_York",
    "2045-03-11T12:00Z",
    ["2045-03-12T07:00Z", "2045-03-13T06:30Z"],
  ],
  // Lord Howe: half an hour, 02:00 is followed by 02:30 (15:30Z), and 01:59 (14:59Z) by 01:30.
  [
    "a gap of half an hour",
    "15 2 * * *",
    "Australia/Lord_Howe",
    "2026-10-03T00:00Z",
    ["2026-10-03T15:30Z", "2026-10-04T15:15Z"],
  ],
  [
    "a fold of half an hour",
    "*/20 1 * * *",
    "Australia/Lord_Howe",
    "2026-04-04T13:50Z",
    ["2026-04-04T14:00Z", "2026-04-04T14:20Z", "2026-04-04T14:40Z", "2026-04-04T15:10Z", "2026-04-05T14:30Z"],
  ],
  // Apia had no 30 December 2011: the 29th was followed by the 31st (10:00Z).
  [
    "a fixed time of a day that never was",
    "0 9 30 12 *",
    "Pacific/Apia",
    "2011-12-01T00:00Z",
    ["2011-12-30T10:00Z", "2012-12-29T19:00Z"],
  ],
  [
    "the times of a day that never was fire once together",
    "0 9,17 * * *",
    "Pacific/Apia",
    "2011-12-29T20:00Z",
    ["2011-12-30T03:00Z", "2011-12-30T10:00Z", "2011-12-30T19:00Z", "2011-12-31T03:00Z"],
  ],
  // São Paulo, 4 November 2018: 23:59 is followed by 01:00 (03:00Z); 18 February 2018: 23:59 (01:59Z) by 23:00.
  [
    "a gap at midnight",
    "0 0 * * *",
    "America/Sao_Paulo",
    "2018-11-03T12:00Z",
    ["2018-11-04T03:00Z", "2018-11-05T02:00Z"],
  ],
  [
    "a gap at midnight, on a day of the week",
    "30 0 * * sun",
    "America/Sao_Paulo",
    "2018-11-03T12:00Z",
    ["2018-11-04T03:00Z", "2018-11-11T02:30Z"],
  ],
  [
    "a fold at midnight",
    "30 23 * * *",
    "America/Sao_Paulo",
    "2018-02-17T12:00Z",
    ["2018-02-18T01:30Z", "2018-02-19T02:30Z"],
  ],
  // St. John's, 4 November 2007: 00:00 (02:30Z) is followed by 23:01 of the day before (02:31Z).
  [
    "a fold that goes back to the day before",
    "*/30 * * * *",
    "America/St_Johns",
    "2007-11-04T02:00Z",
    ["2007-11-04T02:30Z", "2007-11-04T03:00Z", "2007-11-04T03:30Z"],
  ],
  [
    "a midnight that comes twice",
    "0 0 * * *",
    "America/St_Johns",
    "2007-11-04T02:00Z",
    ["2007-11-04T02:30Z", "2007-11-05T03:30Z"],
  ],
  // Casablanca goes back for Ramadan.
  [
    "a fold before Ramadan",
    "30 2 * * *",
    "Africa/Casablanca",
    "2024-03-09T12:00Z",
    ["2024-03-10T01:30Z", "2024-03-11T02:30Z"],
  ],
  [
    "a gap after Ramadan",
    "30 2 * * *",
    "Africa/Casablanca",
    "2024-04-13T12:00Z",
    ["2024-04-14T02:00Z", "2024-04-15T01:30Z"],
  ],
  // Santiago, 7 September 2025: 23:59 is followed by 01:00 (04:00Z).
  [
    "a gap at midnight in Santiago",
    "0,30 0 * * *",
    "America/Santiago",
    "2025-09-06T12:00Z",
    ["2025-09-07T04:00Z", "2025-09-08T03:00Z", "2025-09-08T03:30Z"],
  ],
  [
    "an offset of a quarter of an hour",
    "0 * * * *",
    "Asia/Kathmandu",
    "2026-01-01T00:00Z",
    ["2026-01-01T00:15Z", "2026-01-01T01:15Z"],
  ],
  ["an offset that had seconds", "0 0 1 1 *", "Africa/Monrovia", "1970-06-01T00:00Z", ["1971-01-01T00:44:30Z"]],
  ["the 29th of February", "0 0 29 2 *", "UTC", "2096-02-29T00:00Z", ["2104-02-29T00:00Z"]],
  [
    "a day of month or a day of week",
    "0 0 13 * fri",
    "UTC",
    "2026-02-06T00:00Z",
    ["2026-02-13T00:00Z", "2026-02-20T00:00Z", "2026-02-27T00:00Z", "2026-03-06T00:00Z", "2026-03-13T00:00Z"],
  ],
  [
    "a day of month and a day of week, where one begins with *",
    "0 0 */2 * mon",
    "UTC",
    "2026-01-01T00:00Z",
    ["2026-01-05T00:00Z", "2026-01-19T00:00Z"],
  ],
  [
    "Sunday as the end of a range",
    "0 0 * * sat-sun",
    "UTC",
    "2026-01-01T00:00Z",
    ["2026-01-03T00:00Z", "2026-01-04T00:00Z", "2026-01-10T00:00Z"],
  ],
  [
    "Sunday as 7",
    "0 0 * * 5-7/2",
    "UTC",
    "2026-01-01T00:00Z",
    ["2026-01-02T00:00Z", "2026-01-04T00:00Z", "2026-01-09T00:00Z"],
  ],
  ["@hourly", "@hourly", "UTC", "2026-01-01T00:00Z", ["2026-01-01T01:00Z", "2026-01-01T02:00Z"]],
  ["@daily", "@Daily", "UTC", "2026-01-01T00:00Z", ["2026-01-02T00:00Z", "2026-01-03T00:00Z"]],
  ["@midnight", "@midnight", "UTC", "2026-01-01T00:00Z", ["2026-01-02T00:00Z", "2026-01-03T00:00Z"]],
  ["@weekly", "@weekly", "UTC", "2026-01-01T00:00Z", ["2026-01-04T00:00Z", "2026-01-11T00:00Z"]],
  ["@monthly", "@monthly", "UTC", "2026-01-01T00:00Z", ["2026-02-01T00:00Z", "2026-03-01T00:00Z"]],
  ["@yearly", "@yearly", "UTC", "2026-01-01T00:00Z", ["2027-01-01T00:00Z", "2028-01-01T00:00Z"]],
  ["@annually", "@annually", "UTC", "2026-01-01T00:00Z", ["2027-01-01T00:00Z", "2028-01-01T00:00Z"]],
  [
    "names and spaces of any kind",
    " 5\t4   ?  FEB,Mar MON-fri ",
    "UTC",
    "2026-02-26T12:00Z",
    ["2026-02-27T04:05Z", "2026-03-02T04:05Z"],
  ],
];

describeEachPostgres("the calendar of schedules", (database) => {
  test.each(cases)("%s: %s in %s", async (_, cron, timezone, after, expected) => {
    const { rows } = await database.pool.query(
      `with recursive firing (at, n) as (
         select layover.next_firing($1, $2, $3), 1
         union all select layover.next_firing($1, $2, at), n + 1 from firing where n < $4)
       select at from firing order by n`,
      [cron, timezone, after, expected.length],
    );
    expect(rows.map(({ at }) => at.toISOString())).toEqual(expected.map((at) => new Date(at).toISOString()));
  });

  test("a firing within a minute is after it, to the millisecond", async () => {
    const next = async (after: string) => {
      const { rows } = await database.pool.query("select layover.next_firing('* * * * *', 'UTC', $1) as at", [after]);
      return rows[0].at.toISOString();
    };
    expect(await next("2026-01-01T00:00:59.999Z")).toBe("2026-01-01T00:01:00.000Z");
    expect(await next("2026-01-01T00:01:00.000Z")).toBe("2026-01-01T00:02:00.000Z");
  });

  test.each([
    ["0 0 31 2 *", "UTC", "2026-01-01T00:00Z", "a day that never comes"],
    ["0 0 29 2 */7", "UTC", "2032-03-01T00:00Z", "a day that comes after 28 years"],
    ["* * * * *", "UTC", "infinity", "a time without end"],
    ["* * * * *", "Mars/Phobos", "2026-01-01T00:00Z", "a timezone that is none"],
    ["61 * * * *", "UTC", "2026-01-01T00:00Z", "a pattern that is none"],
  ])("%s in %s does not fire after %s: %s", async (cron, timezone, after) => {
    const { rows } = await database.pool.query("select layover.next_firing($1, $2, $3) as at", [cron, timezone, after]);
    expect(rows).toEqual([{ at: null }]);
  });

  test("a firing may be ten years away, to the minute, and no further", async () => {
    const { rows } = await database.pool.query(
      // the first 28 February on a Sunday after 2027 is in 2038
      `select layover.next_firing('0 12 28 2 */7', 'UTC', '2028-02-28 11:59Z') as too_far,
              layover.next_firing('0 12 28 2 */7', 'UTC', '2028-02-28 12:00Z') as near,
              layover.next_firing('0 0 29 2 *', 'UTC', '1896-03-01 00:00Z') as after_eight_years`,
    );
    expect(rows).toEqual([
      { too_far: null, near: new Date("2038-02-28T12:00Z"), after_eight_years: new Date("1904-02-29T00:00Z") },
    ]);
  });
});
