/**
 * `npm run simulate -- --schedules`: plays seeds of schedules until one fails, or all are played. It takes --seeds, --from,
 * --trace, --all, --planted, --fault and --database as ../main.ts says, and:
 *
 *   --days N   how long each scenario goes on (1)
 */
import { openSite } from "../site.ts";
import { planted } from "./planted.ts";
import { playSeed, shrinkSeed } from "./seeds.ts";

export interface Orders {
  readonly serverUrl: string;
  readonly from: number;
  readonly count: number;
  readonly days: number;
  readonly isTraced: boolean;
  /** Whether it goes on after a failure. */
  readonly isAll: boolean;
  /** Faults to plant that are described with these words. Undefined: none. */
  readonly fault: string | undefined;
}

/** Answers whether anything failed. */
export async function simulateSchedules(orders: Orders): Promise<boolean> {
  return await (orders.fault === undefined ? playAll(orders) : findPlanted(orders, orders.fault));
}

async function playAll({ serverUrl, from, count, days, isTraced, isAll }: Orders): Promise<boolean> {
  const site = await openSite(serverUrl);
  const onLine = isTraced ? (line: string) => console.log(line) : undefined;
  const sum = { seeds: 0, failed: 0, runs: 0, statements: 0, deaths: 0, troubles: 0 };
  const began = performance.now();
  for (let seed = from; seed < from + count && (isAll || sum.failed === 0); seed += 1) {
    if (isTraced) console.log(`\nSeed ${seed}`);
    const { wrongs, ...report } = await playSeed(site, seed, { days, onLine });
    sum.seeds += 1;
    for (const key of ["runs", "statements", "deaths", "troubles"] as const) sum[key] += report[key];
    if (wrongs.length === 0) continue;
    sum.failed += 1;
    console.log(`\n✗ Seed ${seed} fails: ${wrongs.slice(0, 3).join("; ")}`);
    if (!isTraced && !isAll) for (const line of await shrinkSeed(site, seed, { days })) console.log(line);
  }
  await site.close();
  const { seeds, failed, runs, statements, deaths, troubles } = sum;
  console.log(
    `${seeds} seeds of ${days} days, ${failed} failed: ${runs} runs started, ${statements} statements, ${deaths} processes died, ${troubles} calls went wrong; ${Math.round((performance.now() - began) / 1_000)} s`,
  );
  return failed > 0;
}

/** Each has to be found, by what it does. */
async function findPlanted({ serverUrl, from, count, days }: Orders, words: string): Promise<boolean> {
  let hasFailed = false;
  for (const { what, definition, wrong } of planted.filter((fault) => fault.what.includes(words))) {
    const site = await openSite(serverUrl);
    await site.query(`create or replace function layover.${definition}`);
    let found = "";
    let seed = from;
    for (; found === "" && seed < from + count; seed += 1)
      found = (await playSeed(site, seed, { days })).wrongs.join("; ");
    await site.close();
    const isRight = wrong.test(found);
    hasFailed ||= !isRight;
    console.log(
      `${isRight ? "✓" : "✗"} ${what}: ${found === "" ? `not within ${count} seeds` : `seed ${seed - 1}: ${found.slice(0, 200)}`}`,
    );
  }
  return hasFailed;
}
