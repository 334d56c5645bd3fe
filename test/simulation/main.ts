/**
 * `npm run simulate`: plays seeds until one fails, or all are played.
 *
 *   --seeds N       how many (1,000), from --from S (1) on
 *   --minutes M     ... and on, until so much time has passed
 *   --program V     only scenarios with this verb: map, race, callback, poison …
 *   --on HOST       only on this platform: cloudflare, aws, cron, node, embedded, fetch, mixed
 *   --trace         prints what happens; for one seed or a few
 *   --twice         plays each seed twice: the same has to happen
 *   --jobs N        threads (the machine's cores)
 *   --all           does not stop at the first failure
 *   --planted       plants faults into the SQL, one after the other, and says which seed finds each
 *   --fault WORDS   … only those that are described with these words
 *   --schedules     plays schedules, and nothing else (schedules/main.ts); --days N of each
 *   --database URL  a server to use, instead of one that is started for it
 */
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { startPostgres } from "../postgres/server.ts";
import { tellUsage } from "../usage.ts";
import { allPlatforms } from "./outside/platforms.ts";
import { planted } from "./planted.ts";
import { simulateSchedules } from "./schedules/main.ts";
import { playSeed } from "./seeds.ts";
import { openSite } from "./site.ts";
import { describeTally, nothing, sum, type Tally } from "./tally.ts";
import type { Told, WorkerOrders } from "./worker.ts";

tellUsage(import.meta.url);
const { values: options } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    minutes: { type: "string", default: "0" },
    program: { type: "string" },
    on: { type: "string" },
    trace: { type: "boolean", default: false },
    twice: { type: "boolean", default: false },
    jobs: { type: "string", default: String(availableParallelism()) },
    all: { type: "boolean", default: false },
    planted: { type: "boolean", default: false },
    fault: { type: "string", default: "" },
    schedules: { type: "boolean", default: false },
    days: { type: "string", default: "1" },
    database: { type: "string" },
  },
});
const from = Number(options.from);
const count = Number(options.seeds);
const until = performance.now() + Number(options.minutes) * 60_000;
const only = { verb: options.program, platform: allPlatforms.find((platform) => platform === options.on) };
if (options.on !== undefined && only.platform === undefined) {
  console.error(`--on takes one of ${allPlatforms.join(", ")}, not "${options.on}".`);
  process.exit(1);
}
const beganAt = performance.now();

// The log is written seldom. That and the socket make the simulator a fifth faster.
const settings = { synchronous_commit: "off", wal_writer_delay: "10s" };
const start = () => startPostgres({ version: 15, settings, overSocket: true });
const server = options.database === undefined ? await start() : undefined;
const serverUrl = options.database ?? server?.url ?? "";
let failed = false;
try {
  if (options.schedules) failed = await playSchedules();
  else if (options.trace) await trace();
  else if (options.planted) await findPlanted();
  else failed = (await playAll()) > 0;
} finally {
  await server?.stop();
}
process.exit(failed ? 1 : 0);

function playSchedules(): Promise<boolean> {
  const [days, fault] = [Number(options.days), options.planted ? options.fault : undefined];
  return simulateSchedules({ serverUrl, from, count, days, isTraced: options.trace, isAll: options.all, fault });
}

async function trace(): Promise<void> {
  const site = await openSite(serverUrl);
  for (let seed = from; seed < from + count; seed += 1) {
    console.log(`\nSeed ${seed}`);
    const { wrongs } = await playSeed(site, seed, { ...only, onLine: (line) => console.log(line) });
    failed ||= wrongs.length > 0;
  }
  await site.close();
}

/** Each has to be found within `--seeds` seeds, by what it does. Seeds that meet something else of it are passed over. */
async function findPlanted(): Promise<void> {
  for (const { what, definition, wrong } of planted.filter((fault) => fault.what.includes(options.fault))) {
    const site = await openSite(serverUrl);
    await site.query(`create or replace function layover.${definition}`);
    let found: string | undefined;
    let seed = from;
    for (; found === undefined && seed < from + count; seed += 1) {
      const wrongs = (await playSeed(site, seed, only)).wrongs.join("; ");
      if (wrong.test(wrongs)) found = wrongs;
    }
    await site.close();
    failed ||= found === undefined;
    console.log(
      `${found === undefined ? "✗" : "✓"} ${what}: ${found === undefined ? `not within ${count} seeds` : `seed ${seed - 1}: ${found.slice(0, 200)}`}`,
    );
  }
}

async function playAll(): Promise<number> {
  let next = from;
  let tally: Tally = nothing;
  const isLeft = () => (next < from + count || performance.now() < until) && (options.all || tally.failed === 0);
  const orders: WorkerOrders = { serverUrl, only, isTwice: options.twice };
  await Promise.all(
    Array.from({ length: Number(options.jobs) }, async () => {
      const worker = new Worker(new URL("worker.ts", import.meta.url), { workerData: orders });
      while (isLeft()) {
        worker.postMessage(next++);
        const told = await answerOf(worker);
        tally = sum(tally, told.tally);
        if (told.failure !== undefined) report(told.failure);
        showProgress(tally);
      }
      worker.postMessage("end");
      await new Promise((resolve) => worker.once("exit", resolve));
    }),
  );
  const seconds = (performance.now() - beganAt) / 1_000;
  if (process.stderr.isTTY) process.stderr.write("\n");
  console.log(describeTally(tally));
  console.log(`${(tally.seeds / seconds).toFixed(1)} seeds and ${Math.round(tally.events / seconds)} events a second`);
  return tally.failed;
}

async function answerOf(worker: Worker): Promise<Told> {
  const [told] = await once(worker, "message"); // and rejects where the thread fails
  return told;
}

function report({ seed, wrongs, scenario, lines }: NonNullable<Told["failure"]>): void {
  if (lines.length === 0) {
    console.log(`\n✗ Seed ${seed} fails.`);
    for (const wrong of wrongs) console.log(`✗ ${wrong}`);
  } else {
    console.log(`\n✗ Seed ${seed} fails; what follows is the smallest scenario found that does.\n\n${scenario}\n`);
    for (const line of lines) console.log(line);
  }
  console.log(`\nAll of it as it was drawn: npm run simulate -- --from ${seed} --seeds 1 --trace\n`);
}

function showProgress({ seeds, failed }: Tally): void {
  if (!process.stderr.isTTY && seeds % 500 !== 0) return;
  const share = Math.min(1, seeds / Math.max(count, 1));
  const bar = "█".repeat(Math.round(share * 30)).padEnd(30, "░");
  const rate = seeds / ((performance.now() - beganAt) / 1_000);
  const line = `${bar} ${seeds} of ${count} seeds, ${failed} failed, ${rate.toFixed(1)} a second`;
  process.stderr.write(process.stderr.isTTY ? `\r${line} ` : `${line}\n`);
}
