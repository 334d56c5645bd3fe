/**
 * `npm run again`: plays the tests that interrupt or kill, many times. Each play has a seed of its own, which draws the
 * pairs of deaths, the disasters, the seeds of the simulation, the programs and the commands of the model.
 *
 *   npm run again -- --times 100
 *   npm run again -- --times 20 crash/undo platform/processes     only these files
 *
 *   --times N    how often (100), with the seeds from --from S (1) on
 *
 * Tells of each failure how to play it again. Exits with 1 if there was any, after all plays.
 */
import { parseArgs } from "node:util";
import { tellUsage } from "../usage.ts";
import { interrupting } from "./interrupting.ts";
import { play } from "./play.ts";

tellUsage(import.meta.url);
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { times: { type: "string", default: "100" }, from: { type: "string", default: "1" } },
});
const [times, from] = [numberOf("times"), numberOf("from")];
const files = positionals.length > 0 ? positionals : interrupting;

let failures = 0;
for (let seed = from; seed < from + times; seed += 1) {
  const began = performance.now();
  const { tests, failed } = await play(files, seed);
  failures += failed.length;
  const seconds = Math.round((performance.now() - began) / 1_000);
  console.log(`${failed.length === 0 ? "✓" : "✗"} seed ${seed}: ${tests} tests, ${failed.length} failed, ${seconds} s`);
  for (const { file, name, why } of failed) {
    console.log(`  ✗ ${file} > ${name}: ${why}`);
    console.log(`    TEST_SEED=${seed} npm test -- ${file}`);
  }
}
console.log(`${times} times, ${failures} failures`);
process.exitCode = failures === 0 ? 0 : 1;

function numberOf(option: "times" | "from"): number {
  const number = Number(values[option]);
  if (Number.isSafeInteger(number) && number > 0) return number;
  console.error(`--${option} takes a number above 0, not "${values[option]}".`);
  process.exit(1);
}
