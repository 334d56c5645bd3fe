/** One thread that plays seeds as it is told to. */
import { parentPort, workerData } from "node:worker_threads";
import { describeScenario, type Failure, playSeed, playSeedTwice, type SeedOptions, shrinkSeed } from "./seeds.ts";
import { openSite, type Site } from "./site.ts";
import { type Tally, tallied } from "./tally.ts";

export interface WorkerOrders {
  readonly serverUrl: string;
  readonly only: Pick<SeedOptions, "verb" | "platform">;
  /** Each seed, to see that it is the same. */
  readonly isTwice: boolean;
}

export interface Told {
  readonly tally: Tally;
  readonly failure?: Omit<Failure, "scenario"> & { readonly scenario: string };
}

/** A database in which much was deleted grows slow. */
const seedsPerSite = 500;

const { serverUrl, only, isTwice }: WorkerOrders = workerData;
let site: Site | undefined;
let played = 0;

async function play(seed: number): Promise<Told> {
  if (site !== undefined && played % seedsPerSite === 0) {
    await site.close();
    site = undefined;
  }
  played += 1;
  site ??= await openSite(serverUrl);
  const report = await (isTwice ? playSeedTwice : playSeed)(site, seed, only);
  const tally = tallied(report);
  if (report.wrongs.length === 0) return { tally };
  const failure = await shrinkSeed(site, seed, only);
  if (failure === undefined) {
    const wrongs = [...report.wrongs, "played again it did not fail: something in it is not always the same"];
    return { tally, failure: { seed, wrongs, scenario: "", lines: [] } };
  }
  return { tally, failure: { ...failure, scenario: describeScenario(failure.scenario) } };
}

parentPort?.on("message", async (seed: number | "end") => {
  if (seed === "end") {
    await site?.close();
    process.exit(0);
  }
  parentPort?.postMessage(await play(seed));
});
