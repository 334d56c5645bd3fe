/**
 * `npm run chaos`: real processes on a real Postgres, killed, frozen, crashed and cut off at random, while runs whose
 * right answer is known go through them. Prints what happened, and exits with 1 if anything is not as it must be.
 *
 *   --minutes N     how long things go wrong (1); quiet returns after that, and takes up to 6 minutes more (outages: 9)
 *   --seed S        plans the same disasters again (any)
 *   --people N      runs under way at a time (40)
 *   --processes N   (4)
 *   --postgres V    15 or 18 (18)
 *   --deploys       replace processes in the end, instead of waiting for the scheduler: quicker, and proves less
 *   --outages       only the database fails, for 3 to 30 s: gone, silent, read-only, full, its clock set back; with two
 *                   processes where nothing else is said. After each, all runs must move again within a minute
 *   --long          ... gone for three minutes, too
 *   --disk FOLDER   ... and full in truth: the folder of a small file system of its own, which Postgres then fills
 *   --deadlocks     something else: hunt for deadlocks, every two functions on the same few runs
 */
import { parseArgs } from "node:util";
import { tellUsage } from "../usage.ts";
import { wage } from "./campaign.ts";
import { hunt } from "./hunt.ts";

tellUsage(import.meta.url);
const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 1e9)) },
    people: { type: "string", default: "40" },
    processes: { type: "string" },
    outages: { type: "boolean", default: false },
    long: { type: "boolean", default: false },
    disk: { type: "string" },
    postgres: { type: "string", default: "18" },
    deploys: { type: "boolean", default: false },
    deadlocks: { type: "boolean", default: false },
  },
});

const version = values.postgres === "15" ? 15 : 18;
const forMs = numberOf("minutes") * 60_000;
const report = (line: string) => console.log(line);
const isWell = await (values.deadlocks ? huntDeadlocks() : wageChaos());
process.exitCode = isWell ? 0 : 1;

async function wageChaos(): Promise<boolean> {
  const seed = numberOf("seed");
  report(`seed ${seed}`);
  const { counts, violations, evidence, complaints } = await wage({
    seed,
    chaosMs: forMs,
    people: numberOf("people"),
    berths: values.processes === undefined ? (values.outages ? 2 : 4) : numberOf("processes"),
    outages: values.outages ? (values.long ? "long" : "short") : undefined,
    smallDisk: values.disk,
    hasDoors: values.outages,
    version,
    leaseMs: 2_000,
    quietMs: (values.outages ? 9 : 6) * 60_000, // five of them for the clock that was set back
    wokenBy: values.deploys ? "deploys" : "cron",
    report,
  });
  for (const [complaint, count] of complaints) report(`${count} × ${complaint.slice(0, 200)}`);
  for (const [what, count] of Object.entries(counts)) report(`${what}: ${count}`);
  for (const [runId, all] of evidence) {
    if (all.run?.status === "failed" && !all.errand.fails)
      report(`run ${runId} was given up; begun: ${JSON.stringify(all.begun)}`);
  }
  for (const runId of new Set(violations.map((violation) => violation.runId)))
    console.error(JSON.stringify(evidence.get(runId), null, 2));
  for (const { runId, what } of violations) console.error(`run ${runId} ${what}`);
  report(violations.length === 0 ? `all is well with seed ${seed}` : `${violations.length} violations, seed ${seed}`);
  return violations.length === 0;
}

async function huntDeadlocks(): Promise<boolean> {
  const struck = await hunt({ version, forMs, report });
  for (const { pair, sqlState, message } of struck) console.error(`${pair}: ${sqlState} ${message}`);
  report(struck.length === 0 ? "no deadlock, no error" : `${struck.length} errors`);
  return struck.length === 0;
}

function numberOf(option: "minutes" | "seed" | "people" | "processes"): number {
  const number = Number(values[option]);
  if (Number.isFinite(number) && number > 0) return number;
  throw new Error(`--${option} takes a number above 0, not "${values[option]}".`);
}
