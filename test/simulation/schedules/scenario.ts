/** What a seed plays with schedules: which ones there are, what people and hosts do and when, and how much goes wrong. */
import fc from "fast-check";

export interface Scenario {
  readonly platform: "cloud" | "node" | "embedded";
  /** How many share the work. Alarms in memory are one process' (World), so there is one where they are. */
  readonly processes: number;
  /** How long it goes on, in milliseconds. */
  readonly forMs: number;
  /** What code declares: the first build's schedules. */
  readonly schedules: readonly Terms[];
  readonly acts: readonly Act[];
  /** How many in a thousand calls meet each fate. */
  readonly perMille: number;
  /** The only SQL function that meets a fate, ten times as often. */
  readonly focus: string | undefined;
  /** How many calls meet one at most. */
  readonly troubles: number;
  readonly seed: number;
}

/** A schedule, without its name. */
export interface Terms {
  readonly calendar: Calendar;
  readonly jitter: number;
  readonly overlap: "skip" | "allow";
  readonly catchUp: "latest" | "all" | "none";
  /** Whether its runs take 50 minutes. */
  readonly isSlow: boolean;
}

export type Calendar =
  | { readonly cron: string }
  | { readonly everyMinutes: number; readonly startAtMs: number }
  | { readonly atMs: number };

/** `which`: the number of a schedule. Times count from the start of the world. */
export type Act = { readonly atMs: number } & (
  | {
      readonly verb:
        | "pause"
        | "resume"
        | "trigger"
        | "trigger at once"
        | "remove"
        | "create"
        | "delete"
        | "adopt"
        | "restart";
      readonly which: number;
    }
  /** `declare elsewhere`: another deployment declares something else under that name. */
  | { readonly verb: "edit" | "declare elsewhere"; readonly which: number; readonly terms: Terms }
  | { readonly verb: "pause workflow" | "resume workflow"; readonly isSlow: boolean }
  | { readonly verb: "set the clock" | "outage"; readonly byMs: number }
  | { readonly verb: "tick" | "tick twice" | "roll back" }
);

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

const crons = fc.constantFrom("*/10 * * * *", "7 * * * *", "30 */3 * * *", "0 13 * * *", "*/20 */2 * * *", "0 * * * *");
const often = fc.constantFrom("* * * * *", "*/2 * * * *");

/** An instant of the world: often a whole minute or hour, or a moment beside it. */
function instants(forMs: number): fc.Arbitrary<number> {
  const near = fc.constantFrom(-40, -10, 0, 5, 20, 60);
  const minutes = fc.integer({ min: 1, max: forMs / minuteMs }).map((count) => count * minuteMs);
  const tens = fc.integer({ min: 1, max: forMs / (10 * minuteMs) }).map((count) => count * 10 * minuteMs);
  return fc.oneof(
    fc.integer({ min: 0, max: forMs }),
    fc.tuple(fc.oneof(minutes, tens), near).map(([at, by]) => at + by),
  );
}

function calendars(forMs: number): fc.Arbitrary<Calendar> {
  const cron = fc.record({
    cron: forMs > dayMs ? crons : fc.oneof({ weight: 4, arbitrary: crons }, { weight: 1, arbitrary: often }),
  });
  const every = fc.record({
    everyMinutes: fc.constantFrom(15, 60, 90, 7 * 60),
    startAtMs: fc.constantFrom(-dayMs, 0, 30_000, 5 * minuteMs, hourMs),
  });
  return fc.oneof(
    { weight: 5, arbitrary: cron },
    { weight: 3, arbitrary: every },
    { weight: 1, arbitrary: fc.record({ atMs: instants(forMs) }) },
  );
}

function termsWithin(forMs: number): fc.Arbitrary<Terms> {
  return fc
    .record({
      calendar: calendars(forMs),
      jitter: fc.constantFrom(0, 0, 3, 30),
      overlap: fc.constantFrom("skip" as const, "allow" as const),
      catchUp: fc.constantFrom("latest" as const, "all" as const, "none" as const),
      isSlow: fc.boolean(),
    })
    .map((drawn): Terms => (drawn.catchUp === "all" ? { ...drawn, overlap: "allow" } : drawn));
}

const names = fc.nat({ max: 3 });
const editing = fc.constantFrom("edit" as const, "edit" as const, "declare elsewhere" as const);

/** What people do: now and then two of them do it to one schedule, at one instant. */
function actsOf(forMs: number, maxLength: number): fc.Arbitrary<readonly Act[]> {
  const act = actsWithin(forMs);
  const pair = fc
    .tuple(act, act)
    .map(([one, other]) => [one, { ...other, atMs: one.atMs, ...("which" in one && { which: one.which }) } as Act]);
  const elsewhere = fc.constant("declare elsewhere" as const);
  const takeover = fc
    .record({ verb: elsewhere, atMs: instants(forMs), which: names, terms: termsWithin(forMs) })
    .map((one): Act[] => [one, { verb: "adopt", atMs: one.atMs, which: one.which }]);
  const some = fc.oneof(
    { weight: 6, arbitrary: act.map((one) => [one]) },
    { weight: 2, arbitrary: pair },
    { weight: 1, arbitrary: takeover },
  );
  return fc.array(some, { maxLength }).map((all) => all.flat().toSorted((one, other) => one.atMs - other.atMs));
}

function actsWithin(forMs: number): fc.Arbitrary<Act> {
  const atMs = instants(forMs);
  const which = names;
  const person = fc.record({
    verb: fc.constantFrom(
      "pause",
      "pause",
      "resume",
      "resume",
      "trigger",
      "trigger at once",
      "trigger at once",
      "restart",
      "restart",
      "remove",
      "create",
      "delete",
      "adopt",
    ),
    atMs,
    which,
  }) as fc.Arbitrary<Extract<Act, { verb: "pause" }>>;
  const step = fc.oneof(
    fc.integer({ min: -300_000, max: 300_000 }),
    fc.constantFrom(-2 * hourMs, -hourMs, hourMs, 5 * hourMs),
  );
  return fc.oneof(
    { weight: 6, arbitrary: person },
    { weight: 5, arbitrary: fc.record({ verb: editing, atMs, which, terms: termsWithin(forMs) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        verb: fc.constantFrom("pause workflow" as const, "resume workflow" as const),
        atMs,
        isSlow: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ verb: fc.constant("set the clock" as const), atMs, byMs: step }) },
    {
      weight: 1,
      arbitrary: fc.record({
        verb: fc.constant("outage" as const),
        atMs,
        byMs: fc.integer({ min: 1_000, max: 180_000 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        verb: fc.constantFrom("tick" as const, "tick twice" as const, "roll back" as const),
        atMs,
      }),
    },
  );
}

/** Scenarios of so many days. */
export function scenariosOf(days: number): fc.Arbitrary<Scenario> {
  const forMs = days * dayMs;
  return fc
    .record({
      platform: fc.constantFrom("cloud" as const, "cloud" as const, "node" as const, "embedded" as const),
      processes: fc.constantFrom(1, 2),
      forMs: fc.constant(forMs),
      schedules: fc.array(termsWithin(forMs), { minLength: 1, maxLength: 3 }),
      acts: actsOf(forMs, Math.ceil(8 * Math.sqrt(days))),
      perMille: fc.constantFrom(0, 5, 20, 60),
      focus: fc.constantFrom(
        undefined,
        "fire_schedules",
        "fire_schedules",
        "list_due",
        "note_deployment",
        "alarm",
        "dispatch",
      ),
      troubles: fc.integer({ min: 0, max: Math.ceil(12 * days) }),
      seed: fc.noShrink(fc.nat()),
    })
    .map((drawn) => (drawn.platform === "cloud" ? drawn : { ...drawn, processes: 1 }));
}
