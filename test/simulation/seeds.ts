/** Plays seeds: one seed is one scenario and all that happens in it, always the same. A failing one is shrunk. */
import fc from "fast-check";
import type { Act } from "./acts.ts";
import type { PlatformName } from "./outside/platforms.ts";
import { partsOf } from "./programs/program.ts";
import { releaseInWords, withReleases } from "./releases.ts";
import type { Report } from "./report.ts";
import { type Letter, type Scenario, scenario } from "./scenario.ts";
import { simulate } from "./simulation.ts";
import type { Site } from "./site.ts";

export interface SeedOptions {
  /** Only scenarios in which some run's program has this verb. */
  readonly verb?: string | undefined;
  /** Only on this platform. */
  readonly platform?: PlatformName | undefined;
  readonly onLine?: ((line: string) => void) | undefined;
}

export interface Failure {
  readonly seed: number;
  readonly wrongs: readonly string[];
  /** The smallest scenario that was found to fail. */
  readonly scenario: Scenario;
  /** What happens in it, line by line. */
  readonly lines: readonly string[];
}

const longestShrinkMs = 60_000;

export async function playSeed(site: Site, seed: number, options: SeedOptions = {}): Promise<Report> {
  const { onLine } = options;
  let report: Report | undefined;
  await fc.check(
    fc.asyncProperty(scenarioWith(options), async (drawn) => {
      onLine?.(describeScenario(drawn));
      report = await simulate(site, drawn, { onLine });
    }),
    { seed, numRuns: 1, endOnFailure: true },
  );
  if (report === undefined) throw new Error(`seed ${seed} played nothing`);
  return report;
}

/** That another thing happens the second time is wrong, too. */
export async function playSeedTwice(site: Site, seed: number, options: SeedOptions = {}): Promise<Report> {
  const stories: string[][] = [];
  const play = async () => {
    const story: string[] = [];
    stories.push(story);
    return await playSeed(site, seed, { ...options, onLine: (line) => story.push(line) });
  };
  const report = await play();
  await play();
  const [first = [], second = []] = stories;
  const at = [...first, ...second].findIndex((_, index) => first[index] !== second[index]);
  if (at < 0) return report;
  const wrong = `played again, line ${at + 1} is not "${first[at] ?? ""}" but "${second[at] ?? ""}"`;
  return { ...report, wrongs: [...report.wrongs, wrong] };
}

/** Undefined: it does not fail any more, so it is not always the same. */
export async function shrinkSeed(site: Site, seed: number, options: SeedOptions = {}): Promise<Failure | undefined> {
  // What is interrupted goes on, and a second world beside it would share its database.
  let underWay: Promise<Report> | undefined;
  const holds = async (drawn: Scenario): Promise<boolean> => {
    underWay = simulate(site, drawn);
    return (await underWay).wrongs.length === 0;
  };
  const { counterexample } = await fc.check(fc.asyncProperty(scenarioWith(options), holds), {
    seed,
    numRuns: 1,
    interruptAfterTimeLimit: longestShrinkMs,
    markInterruptAsFailure: false,
  });
  await underWay;
  const smallest = counterexample?.[0];
  if (smallest === undefined) return undefined;
  const lines: string[] = [];
  const { wrongs } = await simulate(site, smallest, { onLine: (line) => lines.push(line) });
  return { seed, wrongs, scenario: smallest, lines };
}

export function describeScenario({ runs, ...rest }: Scenario): string {
  const { platform, processes, maxSteps, warmRuns, clockSteps, deployments, releases, refusal } = rest;
  const { chances, focus, troubles, storesAbove, shortIn } = rest;
  const faults = Object.entries(chances).flatMap(([fate, chance]) => (chance > 0 ? [`${fate} ${chance} ‰`] : []));
  return [
    `On ${platform}, ${processes} processes, ${maxSteps} steps an invocation, ${warmRuns} runs in memory.`,
    ...(storesAbove === undefined ? [] : [`A store keeps values of more than ${storesAbove} bytes.`]),
    ...(shortIn === undefined ? [] : [`One in ${shortIn} steps finds too little time in its invocation.`]),
    ...clockSteps.map(({ atMs, byMs }) => `At ${seconds(atMs)} the database's clock is set by ${seconds(byMs)}.`),
    ...(refusal === undefined || !(platform in refusing)
      ? []
      : [`From ${seconds(refusal.fromMs)} to ${seconds(refusal.untilMs)} ${Reflect.get(refusing, platform)}.`]),
    ...deployments.map(
      ({ atMs, without, graceMs }) =>
        `At ${seconds(atMs)} a deployment${without === undefined ? "" : ` without version ${without + 1}`}${graceMs === undefined ? "" : `, and ${seconds(graceMs)} of grace for the one before it`}.`,
    ),
    ...releases.map((release) => `At ${seconds(release.atMs)} ${releaseInWords(release)}.`),
    faults.length === 0 || troubles === 0
      ? "Nothing goes wrong."
      : `A call${focus === undefined ? "" : ` of ${focus}, eight times as often`}: ${faults.join(", ")}; ${troubles} times at most.`,
    ...runs.map(
      ({ program, startAtMs, by, letters, deliveries, timeoutMs, delayMs, acts }, index) =>
        `Run ${index + 1}, started by ${by} at ${seconds(startAtMs)}${delayMs === undefined ? "" : `, to begin ${seconds(delayMs)} later`}${timeoutMs === undefined ? "" : `, with a timeout of ${seconds(timeoutMs)}`}${acts.map(inWords).join("")}${lettersInWords("sent", letters)}${lettersInWords("delivered", deliveries)}:\n${fc.stringify(program)}`,
    ),
  ].join("\n");
}

const refusing = { cloudflare: "the queue takes nothing", fetch: "the app answers no ring" };

function scenarioWith({ verb, platform }: SeedOptions): fc.Arbitrary<Scenario> {
  const all =
    platform === undefined
      ? scenario
      : platform === "mixed"
        ? withReleases(scenario)
        : scenario.map((drawn) => ({ ...drawn, platform }));
  if (verb === undefined) return all;
  return all.filter(({ runs }) => runs.some(({ program }) => partsOf(program).some(({ kind }) => kind === verb)));
}

function inWords(act: Act): string {
  const length = "forMs" in act ? ` for ${seconds(act.forMs)}` : "";
  const next = act.verb === "fork" && act.follows !== undefined ? ` and ${act.follows.verb} that` : "";
  return `, ${act.verb} at ${seconds(act.atMs)}${length}${next}`;
}

function lettersInWords(how: string, letters: readonly Letter[]): string {
  return letters
    .map(
      ({ name, payload, atMs, isTwice }) =>
        `, ${how} ${name} ${payload} at ${seconds(atMs)}${isTwice ? " and again" : ""}`,
    )
    .join("");
}

function seconds(ms: number): string {
  return `${ms / 1_000} s`;
}
