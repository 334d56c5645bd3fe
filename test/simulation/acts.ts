/** What operators do to a run, and when: drawn at random. */
import fc from "fast-check";
import { type SignalName, signalNames } from "./programs/contract.ts";

/** Times count from the start of the world. */
export type Act = Pausing | Ending | Removal | Retry | Restart | Fork | Upgrade | OfChildren;

/** What is paused is resumed later. */
export interface Pausing {
  readonly verb: "pause" | "pause version" | "pause workflow";
  readonly atMs: number;
  readonly forMs: number;
}

/** Somebody looks after the runs that the run has started by then. */
export interface OfChildren {
  readonly verb: "pause children" | "retry children" | "restart children";
  readonly atMs: number;
  /** How long they are paused. */
  readonly forMs: number;
}

export interface Ending {
  readonly verb: "cancel" | "cancel version" | "terminate";
  readonly atMs: number;
}

export interface Removal {
  readonly verb: "delete";
  readonly atMs: number;
  /** Whether the call that started the run is sent again afterwards. */
  readonly isStartedAgain: boolean;
}

export interface Retry {
  readonly verb: "retry";
  readonly atMs: number;
  readonly signal?: { readonly name: SignalName; readonly payload: number };
}

export interface Restart {
  readonly verb: "restart";
  readonly atMs: number;
  /** How many records stand before the place from which it goes on. */
  readonly kept: number;
}

export interface Fork extends Omit<Restart, "verb"> {
  readonly verb: "fork";
  /** What is done to the new run, times counted from when it is there. */
  readonly follows: Ending | Restart | Retry | undefined;
}

/** A run is moved to the other version that has its code. No run has two of these acts. */
export interface Upgrade {
  readonly verb: "upgrade";
  readonly atMs: number;
  /** How long after the look at the run the move is asked for. */
  readonly lateMs: number;
  /** How much later it is moved back. Undefined: it stays. */
  readonly backAfterMs: number | undefined;
}

export const minutes = (most: number) => fc.integer({ min: 0, max: most }).map((quarters) => quarters * 15_000);

const pause = fc.record({
  verb: fc.constantFrom("pause" as const, "pause" as const, "pause version" as const, "pause workflow" as const),
  atMs: fc.oneof(fc.integer({ min: 0, max: 5_000 }), minutes(40)),
  forMs: fc.oneof(fc.integer({ min: 0, max: 5_000 }), minutes(600)),
});

function ending<Verb extends "cancel" | "cancel version" | "terminate">(...verbs: Verb[]) {
  return fc.record({
    verb: fc.constantFrom(...verbs),
    atMs: fc.oneof(fc.integer({ min: 0, max: 5_000 }), minutes(8), minutes(40)),
  });
}

const terminate = ending("terminate");

const nobody: fc.Arbitrary<Act[]> = fc.constant([]);

/** One or two cancels of a run that may be paused, and may be terminated. */
const cancel: fc.Arbitrary<Act[]> = fc
  .tuple(
    fc.array(ending("cancel", "cancel", "cancel", "cancel version"), { minLength: 1, maxLength: 2 }),
    fc.oneof(nobody, fc.tuple(pause)),
    fc.oneof({ weight: 5, arbitrary: nobody }, { weight: 1, arbitrary: fc.tuple(terminate) }),
  )
  .map(([cancels, paused, terminated]) => [...cancels, ...paused, ...terminated]);

const signal = fc.record({ name: fc.constantFrom(...signalNames), payload: fc.integer({ min: 2_001, max: 2_999 }) });
const kept = fc.integer({ min: 0, max: 5 });

const retry = fc
  .tuple(minutes(8), fc.option(signal, { nil: undefined, freq: 2 }))
  .map(([atMs, signal]): Retry => ({ verb: "retry", atMs, ...(signal && { signal }) }));

/** Somebody repairs the run, once or twice, when it is over or stopped. */
const repair = fc.oneof(retry, fc.record({ verb: fc.constant("restart" as const), atMs: minutes(8), kept }));

const repairs = fc.array(repair, { minLength: 1, maxLength: 2 });
const soonCancelled = fc.record({
  verb: fc.constant("cancel" as const),
  atMs: fc.integer({ min: 0, max: 5_000 }),
});
const soon = fc.oneof(fc.integer({ min: 0, max: 5_000 }), minutes(20));
const fork = fc.record({
  verb: fc.constant("fork" as const),
  atMs: soon,
  kept,
  follows: fc.option(fc.oneof(soonCancelled, repair), { nil: undefined, freq: 2 }),
});
const removal = fc.record({ verb: fc.constant("delete" as const), atMs: soon, isStartedAgain: fc.boolean() });

const upgrade = fc.record({
  verb: fc.constant("upgrade" as const),
  atMs: soon,
  lateMs: fc.constantFrom(0, 0, 1_000, 60_000),
  backAfterMs: fc.option(soon, { nil: undefined, freq: 1 }),
});

const ofChildren = fc.array(
  fc.record({
    verb: fc.constantFrom("retry children" as const, "retry children", "restart children", "pause children"),
    atMs: fc.oneof(fc.integer({ min: 0, max: 5_000 }), minutes(8), minutes(40)),
    forMs: fc.oneof(fc.integer({ min: 0, max: 5_000 }), minutes(40)),
  }),
  { minLength: 1, maxLength: 2 },
);

/** A resume of all runs of a version does not find one that was moved meanwhile. So that one is paused alone. */
function aloneIn(acts: readonly Act[]): Act[] {
  return acts.map((act) => (act.verb === "pause version" ? { ...act, verb: "pause" } : act));
}

export const acts: fc.Arbitrary<Act[]> = fc.oneof(
  { weight: 6, arbitrary: nobody },
  { weight: 2, arbitrary: fc.array(pause, { minLength: 1, maxLength: 2 }) },
  { weight: 1, arbitrary: terminate.map((act) => [act]) },
  { weight: 4, arbitrary: cancel },
  { weight: 3, arbitrary: repairs },
  { weight: 1, arbitrary: fc.tuple(repairs, cancel).map((parts) => parts.flat()) },
  { weight: 2, arbitrary: fc.array(fork, { minLength: 1, maxLength: 2 }) },
  { weight: 2, arbitrary: upgrade.map((act) => [act]) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.oneof(cancel, repairs, fc.tuple(fork), fc.tuple(pause)), upgrade)
      .map(([others, act]) => [...aloneIn(others), act]),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.oneof(nobody, fc.tuple(pause)), ofChildren, fc.oneof(nobody, cancel, repairs, fc.tuple(terminate)))
      .map((parts) => parts.flat()),
  },
  { weight: 1, arbitrary: fc.tuple(fc.oneof(nobody, repairs), fork, removal).map((parts) => parts.flat()) },
  { weight: 1, arbitrary: fc.tuple(fc.oneof(nobody, cancel, repairs), removal).map((parts) => parts.flat()) },
);
