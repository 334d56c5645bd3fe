/** Some seeds of schedules, and faults that they must find. `npm run simulate -- --schedules` plays more. */
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { postgresUrl } from "../postgres/database.ts";
import { planted } from "./schedules/planted.ts";
import { playSeed } from "./schedules/seeds.ts";
import { openSite, type Site } from "./site.ts";

const seeds = 5;
const days = 0.5;

const version = inject("postgres").versions[0] ?? "15";
let site: Site;
beforeAll(async () => {
  site = await openSite(await postgresUrl(version));
});
afterAll(() => site.close());

test("each instant is fired once, or left out as the schedule says, and none is late", {
  timeout: 600_000,
}, async () => {
  for (let seed = 1; seed <= seeds; seed += 1) {
    const { wrongs } = await playSeed(site, seed, { days });
    expect(wrongs, `npm run simulate -- --schedules --from ${seed} --seeds 1 --days ${days} --trace`).toEqual([]);
  }
});

test("the same seed tells the same story", { timeout: 300_000 }, async () => {
  const storyOf = async () => {
    const lines: string[] = [];
    await playSeed(site, 3, { days, onLine: (line) => lines.push(line.replaceAll(/"runId":"[^"]*"/g, "")) });
    return lines;
  };
  expect(await storyOf()).toEqual(await storyOf());
});

test.each(planted.slice(0, 2))(
  "a planted fault is found: $what",
  { timeout: 300_000 },
  async ({ definition, wrong }) => {
    const faulty = await openSite(await postgresUrl(version));
    onTestFinished(() => faulty.close());
    await faulty.query(`create or replace function layover.${definition}`);
    let found = "";
    for (let seed = 1; found === ""; seed += 1) found = (await playSeed(faulty, seed, { days })).wrongs.join("; ");
    expect(found).toMatch(wrong);
  },
);
