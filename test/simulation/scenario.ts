/**
 * What a seed plays: which programs run where, what people send them and when, which deployments follow each other, and
 * how much goes wrong. All of it shrinks: towards fewer runs, smaller programs, and less that goes wrong.
 */
import fc from "fast-check";
import { type Act, acts, minutes } from "./acts.ts";
import { type Chances, fates, focuses } from "./faults.ts";
import { type PlatformName, platforms } from "./outside/platforms.ts";
import { type SignalName, signalNames } from "./programs/contract.ts";
import { any, doomed, type Program } from "./programs/program.ts";
import type { Release } from "./releases.ts";

export interface Scenario {
  readonly platform: PlatformName;
  readonly processes: number;
  /** How many steps of a run one invocation may carry out. */
  readonly maxSteps: number;
  /** How many runs a process keeps in memory. */
  readonly warmRuns: number;
  /** How far the clocks of the hosts are off, one after the other. */
  readonly skewsMs: readonly number[];
  readonly runs: readonly PlannedRun[];
  /** Steps by which the database's clock is set, back or forward, one after the other. */
  readonly clockSteps: readonly ClockStep[];
  /** New processes, at these times; the first ones at 0. */
  readonly deployments: readonly Deployment[];
  /** New processes on one host alone, where hosts share a database. */
  readonly releases: readonly Release[];
  /** The time in which a queue takes nothing, where the platform has a queue. */
  readonly refusal: Refusal | undefined;
  readonly chances: Chances;
  /** The only kind of calls that meet a fate, which they meet more often: those of a port, or of one SQL function. */
  readonly focus: string | undefined;
  /** How many calls may meet a fate, being held not counted. After that nothing goes wrong any more. */
  readonly troubles: number;
  /** Seed of everything that is drawn while the scenario is played. */
  readonly seed: number;
  /** A store keeps values of more bytes. Undefined: the database keeps all of them. */
  readonly storesAbove: number | undefined;
  /** One in so many steps finds too little time in its invocation, where a platform ends invocations. Undefined: none. */
  readonly shortIn: number | undefined;
}

export interface PlannedRun {
  readonly program: Program;
  readonly startAtMs: number;
  /**
   * Who starts it: the client, until it is answered or once; a signal that starts it; two at once, with one id; or somebody
   * in a transaction of their own, which then is committed or rolled back.
   */
  readonly by: "client" | "signal" | "sender" | "somebody in a hurry" | "two" | "commit" | "rollback";
  readonly letters: readonly Letter[];
  /** What senders deliver to its key by a webhook: it is kept while the run is not there. */
  readonly deliveries: readonly Letter[];
  /** Timeout of the whole run, in milliseconds. */
  readonly timeoutMs: number | undefined;
  /** How long it waits before its first turn. */
  readonly delayMs: number | undefined;
  /** What somebody does to it. */
  readonly acts: readonly Act[];
}

export interface Letter {
  readonly name: SignalName;
  /** No two letters to one run have the same. */
  readonly payload: number;
  readonly atMs: number;
  /** Whether somebody sends it again later. */
  readonly isTwice: boolean;
  /** Whether its sender asks again until it is answered. */
  readonly insists: boolean;
}

export interface ClockStep {
  readonly atMs: number;
  readonly byMs: number;
}

export interface Refusal {
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface Deployment {
  readonly atMs: number;
  /** The version that it does not carry: the n-th run's. Undefined: it carries all. */
  readonly without: number | undefined;
  /**
   * How long the processes before it may still end what they have begun, where they are asked to end. Undefined: they
   * are gone at once.
   */
  readonly graceMs: number | undefined;
}

/** Makes deployments that follow each other. The last one carries everything. */
function deploymentsOf(
  first: number | undefined,
  later: readonly (readonly [atMs: number, without: number | undefined, graceMs: number | undefined])[],
): readonly Deployment[] {
  const all: Deployment[] = [{ atMs: 0, without: first, graceMs: undefined }];
  for (const [gapMs, without, graceMs] of later) all.push({ atMs: (all.at(-1)?.atMs ?? 0) + gapMs, without, graceMs });
  const last = all.at(-1);
  if (last?.without !== undefined) all.push({ atMs: last.atMs + 600_000, without: undefined, graceMs: last.graceMs });
  return all;
}

const letterTerms = { name: fc.constantFrom(...signalNames), isTwice: fc.boolean(), insists: fc.boolean() };
const letter = fc.record({ ...letterTerms, atMs: minutes(40) });

/** The payload of the first signal that is delivered to a run. */
const firstDelivered = 100;
/** The payload of a signal that starts its run. Those of letters are smaller. */
export const opening = 900;
const hourMs = 3_600_000;

const earlier = minutes(12).map((ms) => -ms);

/** What is delivered before the start of a run, at that very moment, or after it. Times count from the start. */
const deliveries = fc
  .array(fc.record({ ...letterTerms, atMs: fc.oneof(fc.integer({ min: -2_000, max: 2_000 }), minutes(20), earlier) }), {
    minLength: 1,
    maxLength: 2,
  })
  .map((letters) => letters.map((each, index) => ({ ...each, payload: firstDelivered + index })));

const anyRun: fc.Arbitrary<PlannedRun> = fc.record({
  program: fc.oneof({ weight: 2, arbitrary: any }, { weight: 1, arbitrary: doomed }),
  startAtMs: minutes(12),
  by: fc.constantFrom<PlannedRun["by"][]>(
    "client",
    "signal",
    "sender",
    "somebody in a hurry",
    "somebody in a hurry",
    "two",
    "commit",
    "rollback",
  ),
  timeoutMs: fc.constantFrom(undefined, undefined, undefined, undefined, 20_000, 300_000, 3_600_000),
  delayMs: fc.constantFrom(undefined, undefined, undefined, undefined, undefined, undefined, undefined, 90_000),
  acts,
  letters: fc
    .array(letter, { maxLength: 4 })
    .map((letters) => letters.map((each, index) => ({ ...each, payload: index + 1 }))),
  deliveries: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: deliveries }),
});

/** These come after the start, so that most of them find the run. */
const following = new Set<Act["verb"]>([
  ...(["cancel", "cancel version", "fork", "delete", "upgrade"] as const),
  ...(["pause children", "retry children", "restart children"] as const),
]);

/** How long some runs come later than what was delivered to them. It is kept for 96 hours. */
const laterMs = fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 0, 95 * hourMs, 97 * hourMs);

const run = fc.tuple(anyRun, laterMs).map(([drawn, ms]): PlannedRun => {
  const { startAtMs } = drawn;
  const acts = drawn.acts.map((act) => (following.has(act.verb) ? { ...act, atMs: startAtMs + act.atMs } : act));
  const deliveries = drawn.deliveries.map((each) => ({ ...each, atMs: Math.max(0, startAtMs + each.atMs) }));
  const planned = { ...drawn, acts, deliveries };
  if (deliveries.length === 0 || ms === 0) return planned;
  const later = <Timed extends { readonly atMs: number }>(list: readonly Timed[]) =>
    list.map((each) => ({ ...each, atMs: each.atMs + ms }));
  return { ...planned, startAtMs: startAtMs + ms, acts: later(acts), letters: later(drawn.letters) };
});

const skewMs = fc.integer({ min: -600_000, max: 600_000 });

const clockSteps: fc.Arbitrary<readonly ClockStep[]> = fc.oneof(
  { weight: 4, arbitrary: fc.constant([]) },
  {
    weight: 1,
    arbitrary: fc
      .array(
        fc.record({
          atMs: fc.oneof(fc.integer({ min: 0, max: 5_000 }), minutes(40)),
          byMs: fc.integer({ min: -300, max: 300 }).map((seconds) => seconds * 1_000),
        }),
        { minLength: 1, maxLength: 2 },
      )
      .map((steps) => steps.toSorted((one, other) => one.atMs - other.atMs)),
  },
);

const refusal: fc.Arbitrary<Refusal | undefined> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  {
    weight: 1,
    arbitrary: fc
      .record({ fromMs: fc.integer({ min: 0, max: 600_000 }), forMs: fc.integer({ min: 0, max: 7_200_000 }) })
      .map(({ fromMs, forMs }) => ({ fromMs, untilMs: fromMs + forMs })),
  },
);

const chances: fc.Arbitrary<Chances> = fc
  .tuple(...fates.map((fate) => (fate === "is held" ? fc.constantFrom(0, 50, 400) : fc.constantFrom(0, 0, 5, 20, 60))))
  .map((drawn) => Object.fromEntries(fates.map((fate, index) => [fate, drawn[index] ?? 0])) as Chances);

const drawnAlone: fc.Arbitrary<Scenario> = fc.record({
  platform: fc.constantFrom(...platforms),
  processes: fc.constantFrom(2, 2, 1, 3),
  maxSteps: fc.constantFrom(1, 1, 4),
  warmRuns: fc.constantFrom(0, 10),
  skewsMs: fc.tuple(skewMs, skewMs, skewMs),
  runs: fc.array(run, { minLength: 1, maxLength: 3 }),
  deployments: fc
    .tuple(
      fc.constantFrom(undefined, undefined, undefined, 0, 1),
      fc.array(fc.tuple(minutes(20), fc.constantFrom(undefined, 0), fc.constantFrom(undefined, 0, 1_000, 10_000)), {
        maxLength: 2,
      }),
    )
    .map(([without, later]) => deploymentsOf(without, later)),
  releases: fc.constant([]),
  clockSteps,
  refusal,
  chances,
  focus: fc.option(fc.constantFrom(...focuses), { nil: undefined, freq: 2 }),
  troubles: fc.integer({ min: 0, max: 12 }),
  seed: fc.noShrink(fc.nat()),
  storesAbove: fc.constantFrom(undefined, undefined, 1_000),
  shortIn: fc.constantFrom(undefined, undefined, undefined, 3),
});

/** Scenarios in which a process that is asked to end has work under way, more often than by chance. */
export const scenario = drawnAlone.map((drawn) => {
  const [first, second, ...later] = drawn.deployments;
  const [run] = drawn.runs;
  if (first === undefined || run === undefined || second?.graceMs === undefined) return drawn;
  const gapMs = run.startAtMs + 1_000 - second.atMs;
  const moved = [second, ...later].map((each) => ({ ...each, atMs: each.atMs + gapMs }));
  return { ...drawn, deployments: [first, ...moved] };
});
