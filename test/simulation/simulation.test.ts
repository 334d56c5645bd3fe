/** The simulator itself, and some seeds: 100 seconds of them, and at least 500. `npm run simulate` plays more. */
import fc from "fast-check";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { postgresUrl } from "../postgres/database.ts";
import { noneMet } from "./faults.ts";
import { scenario } from "./scenario.ts";
import { playSeed, shrinkSeed } from "./seeds.ts";
import { simulate } from "./simulation.ts";
import { openSite, type Site } from "./site.ts";

const leastSeeds = 500;
const leastMs = 100_000;

const version = inject("postgres").versions[0] ?? "15";
let site: Site;
beforeAll(async () => {
  site = await openSite(await postgresUrl(version));
});
afterAll(() => site.close());

async function storyOf(seed: number): Promise<readonly string[]> {
  const lines: string[] = [];
  await playSeed(site, seed, { onLine: (line) => lines.push(line) });
  return lines;
}

test("the same seed tells the same story, whatever was played before", { timeout: 120_000 }, async () => {
  const seeds = Array.from({ length: 40 }, (_, index) => index + 1);
  const stories = new Map<number, readonly string[]>();
  for (const seed of seeds) stories.set(seed, await storyOf(seed));
  for (const seed of seeds.toReversed()) expect(await storyOf(seed)).toEqual(stories.get(seed));
});

test("of statements that wait for one lock the seed says who goes on first, however late Postgres answers", {
  timeout: 300_000,
}, async () => {
  const drawn = fc.sample(scenario, { seed: 78, numRuns: 40 });
  const crowded = drawn.map((one) => ({ ...one, chances: { ...noneMet(), "is held": 500 }, focus: undefined }));
  const storiesOf = async (played: Site) => {
    const lines: string[] = [];
    for (const one of crowded) await simulate(played, one, { onLine: (line) => lines.push(line) });
    return lines;
  };
  const stories = await storiesOf(site);
  const together = stories.filter((line) => / {2}… (which|after its) wait/.test(line)).join("\n");
  expect(together.match(/which waits.*\n.*which waits/g)?.length).toBeGreaterThan(10);
  const late = await openSite(await postgresUrl(version), { lag });
  try {
    expect(await storiesOf(late)).toEqual(stories);
  } finally {
    await late.close();
  }
});

/** Answers of Postgres are heard late: whatever the processes do of themselves comes first. */
async function lag(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** What SQL might do wrong, and what then is wrong of the whole. */
const plants = [
  [
    "a run that parks overlooks signals",
    "has_answer(run uuid) returns boolean language sql volatile as 'select false'",
    /was sent and not taken|it waits at the end/,
  ],
  [
    "an instant is due for which nobody armed",
    "pick_due(armed jsonb, need timestamptz) returns timestamptz language sql stable as $$ select need + interval '5 minutes' $$",
    /the wake rule does not hold/,
  ],
  [
    "a name is closed over a signal that came meanwhile",
    "has_come(run uuid, epoch integer, f jsonb) returns boolean language sql volatile as 'select false'",
    /is closed, and a signal that came is not taken/,
  ],
] as const;

/** Answers the first seed that meets the planted fault, and a site which has the fault. */
async function plant(definition: string): Promise<{ readonly planted: Site; readonly seed: number }> {
  const planted = await openSite(await postgresUrl(version));
  onTestFinished(() => planted.close());
  await planted.query(`create or replace function layover.${definition}`);
  let seed = 1;
  while ((await playSeed(planted, seed)).wrongs.length === 0) seed += 1;
  return { planted, seed };
}

test.each(plants)("a planted fault is found: %s", { timeout: 300_000 }, async (_, definition, wrong) => {
  const { planted, seed } = await plant(definition);
  expect((await playSeed(planted, seed)).wrongs.join("\n")).toMatch(wrong);
});

test("a fault that was found is shrunk and told", { timeout: 300_000 }, async () => {
  const [, [, definition, wrong]] = plants;
  const { planted, seed } = await plant(definition);
  const failure = await shrinkSeed(planted, seed);
  expect(failure?.wrongs.join("\n")).toMatch(wrong);
  expect(failure?.lines.at(-1)).toMatch(wrong);
});

test("every run ends with its right answer, and the rules hold after every event", { timeout: 1_200_000 }, async () => {
  const until = performance.now() + leastMs;
  for (let seed = 1; seed <= leastSeeds || performance.now() < until; seed += 1) {
    const { wrongs } = await playSeed(site, seed);
    expect(wrongs, `npm run simulate -- --from ${seed} --seeds 1 --trace`).toEqual([]);
  }
});
