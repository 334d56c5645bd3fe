/**
 * Asks the calendar in SQL what two oracles know: `croner`, where no clock changes, and a walk from minute to minute
 * (`slow-calendar.ts`), where one does. Hosts and databases have timezone data of their own, which differ for years to
 * come. So the oracles are asked about past years only.
 */
import { Cron } from "croner";
import fc from "fast-check";
import type { PoolClient } from "pg";
import { expect, test } from "vitest";
import { describeEachPostgres, type TestDatabase } from "../postgres/database.ts";
import { isWhole } from "../size.ts";
import { type Pattern, patterns } from "./patterns.ts";
import { clockChanges, firings, walk, wallOf } from "./slow-calendar.ts";

const seed = Number(process.env["CALENDAR_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const size = isWhole ? { patterns: 160, changes: 1_000, afters: 6 } : { patterns: 24, changes: 5, afters: 6 };

const [begin, end] = [Date.UTC(1986, 0, 1), Date.UTC(2025, 11, 1)];
const hour = 3_600_000;

const timezones = [
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe", // half an hour
  "Pacific/Apia", // a day that never was
  "Africa/Casablanca", // four changes a year
  "America/Sao_Paulo", // changes at midnight
  "America/Santiago",
  "Asia/Kathmandu", // a quarter of an hour, once
  "UTC",
  "America/St_Johns", // changes at 00:01
  "Asia/Tehran",
  "Asia/Beirut",
  "Africa/Cairo",
  "Europe/London",
  "Atlantic/Azores", // changes at midnight, backwards
  "America/Havana",
  "Antarctica/Troll", // two hours
  "Antarctica/Casey", // three hours, and eleven
  "Pacific/Kwajalein", // a day that never was, backwards in 1969
  "Asia/Kolkata",
];

/** Settings of a session, and values of `TZ` of a process. No answer may depend on them. */
const surroundings = [
  { timezone: "UTC", dateStyle: "ISO, MDY", path: "public" },
  { timezone: "America/New_York", dateStyle: "SQL, DMY", path: "" },
  { timezone: "Pacific/Apia", dateStyle: "German, DMY", path: "pg_temp" },
  { timezone: "Australia/Lord_Howe", dateStyle: "Postgres, MDY", path: "layover" },
];

interface Question {
  readonly cron: string;
  readonly timezone: string;
  readonly after: number;
}

interface Expected extends Question {
  /** Undefined: nothing up to `until`. */
  readonly next: number | undefined;
  readonly until: number;
  /** Whether the oracle knows if there is a firing at an instant. Default: it knows all. */
  readonly isKnown?: (instant: number) => boolean;
}

async function ask(client: Pick<PoolClient, "query">, questions: readonly Question[]): Promise<(number | null)[]> {
  const { rows } = await client.query(
    `select (extract(epoch from layover.next_firing(cron, timezone, timestamptz 'epoch' + ms * interval '1 ms')) * 1000)::float8 as next
       from unnest($1::text[], $2::text[], $3::float8[]) with ordinality as q (cron, timezone, ms, place) order by place`,
    [questions.map(({ cron }) => cron), questions.map(({ timezone }) => timezone), questions.map(({ after }) => after)],
  );
  return rows.map(({ next }) => next);
}

const shown = (instant: number | null | undefined) =>
  typeof instant === "number" ? new Date(instant).toISOString() : "none";

/** Answers what SQL says otherwise, in words that name the question. */
async function differences(
  client: Pick<PoolClient, "query">,
  expected: readonly Expected[],
  settings: string,
): Promise<string[]> {
  const answers = await ask(client, expected);
  return expected.flatMap(({ cron, timezone, after, next, until, isKnown }, index) => {
    const answer = answers[index] ?? null;
    const isRight = next === undefined ? answer === null || answer > until : answer === next;
    if (isRight || (answer !== null && isKnown?.(answer) === false)) return [];
    const question = `"${cron}" in ${timezone} after ${shown(after)}`;
    return [`${question}: ${shown(answer)} instead of ${shown(next)} (CALENDAR_SEED=${seed}, session in ${settings})`];
  });
}

/** Asks a quarter of the questions in each of the four surroundings. */
async function expectAll(database: TestDatabase, expected: readonly Expected[]): Promise<void> {
  for (const [quarter, { timezone, dateStyle, path }] of surroundings.entries()) {
    const client = await database.pool.connect();
    try {
      await client.query(
        "select set_config('timezone', $1, false), set_config('datestyle', $2, false), set_config('search_path', $3, false)",
        [timezone, dateStyle, path],
      );
      const asked = expected.filter((_, index) => index % 4 === quarter);
      expect((await differences(client, asked, timezone)).slice(0, 10)).toEqual([]);
    } finally {
      client.release(true);
    }
  }
}

let draws = 0;
/** Draws anew each time, the same with the same seed. */
function draw<T>(arbitrary: fc.Arbitrary<T>, count: number): T[] {
  draws += 1;
  return fc.sample(arbitrary, { seed: seed + draws, numRuns: count });
}

const walls = new Map(timezones.map((timezone) => [timezone, wallOf(timezone)]));
const wallIn = (timezone: string) => walls.get(timezone) ?? wallOf(timezone);

function changesOf(timezone: string): number[] {
  return clockChanges(wallIn(timezone), begin, end);
}

/** What a walk finds around some changes of the clocks of each zone. */
function aroundChanges(): Expected[] {
  return timezones.flatMap((timezone) => {
    const changes = changesOf(timezone);
    const some = changes.length <= size.changes ? changes : draw(fc.constantFrom(...changes), size.changes);
    return some.flatMap((change) => {
      const walked = walk(wallIn(timezone), change - 30 * hour, change + 30 * hour);
      return draw(patterns, size.patterns).flatMap((pattern) => {
        const fired = firings(walked, pattern);
        const instants = fc.oneof(
          fc.integer({ min: -26 * 60, max: 26 * 60 }).map((minutes) => change + minutes * 60_000),
          fc.integer({ min: -2 * hour, max: 4 * hour }).map((ms) => change + ms),
          fc.constantFrom(change, change - 1, change - 26 * hour, ...fired, ...fired.map((instant) => instant - 1)),
        );
        return draw(instants, size.afters)
          .filter((after) => after >= walked.from)
          .map((after): Expected => {
            const next = fired.find((instant) => instant > after);
            return { cron: pattern.text, timezone, after, next, until: walked.to };
          });
      });
    });
  });
}

/** What croner answers at instants far from changes of the clocks, with another `TZ` for each quarter of the zones. */
function awayFromChanges(): Expected[] {
  const own = process.env["TZ"];
  try {
    return timezones.flatMap((timezone, index) => {
      const changes = changesOf(timezone);
      const isCalm = (instant: number) => changes.every((change) => Math.abs(change - instant) > 27 * hour);
      const values = isWhole ? surroundings : surroundings.filter((_, place) => place === index % 4);
      return values.flatMap((value) => {
        process.env["TZ"] = value.timezone;
        return draw(patterns, size.patterns)
          .filter(({ isSameToCroner }) => isSameToCroner)
          .flatMap((pattern) => cronerAnswers(pattern, timezone, isCalm));
      });
    });
  } finally {
    if (own === undefined) delete process.env["TZ"];
    else process.env["TZ"] = own;
  }
}

function cronerAnswers({ text }: Pattern, timezone: string, isCalm: (instant: number) => boolean): Expected[] {
  const job = new Cron(text, { timezone, mode: "5-part" });
  return draw(fc.integer({ min: begin, max: end - 11 * 366 * 24 * hour }), size.afters).flatMap((after): Expected[] => {
    const next = job.nextRun(new Date(after))?.getTime();
    if (!isCalm(after) || (next !== undefined && !isCalm(next))) return [];
    return [{ cron: text, timezone, after, next, until: Number.POSITIVE_INFINITY, isKnown: isCalm }];
  });
}

/** Asks an oracle at the first need, and keeps the answers for the other version of Postgres. */
function kept(oracle: () => Expected[]): () => Expected[] {
  let answers: Expected[] | undefined;
  return () => {
    draws = 0;
    answers ??= oracle();
    return answers;
  };
}

const around = kept(aroundChanges);
const away = kept(awayFromChanges);

describeEachPostgres("the calendar of schedules", (database) => {
  test("fires by the rule around changes of the clocks", async () => {
    expect(around().length).toBeGreaterThan(1_000);
    await expectAll(database, around());
  }, 600_000);

  test("fires as croner says elsewhere", async () => {
    expect(away().length).toBeGreaterThan(1_000);
    await expectAll(database, away());
  }, 600_000);
});
