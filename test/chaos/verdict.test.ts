import { describe, expect, test } from "vitest";
import { encode } from "../../src/core/codec/codec.ts";
import type { Effect } from "./effects.ts";
import { failure, notes, refusal, tidy } from "./errand.ts";
import { tripPath } from "./trip.ts";
import { type Evidence, faultsOf, isWornOut } from "./verdict.ts";
import type { SeenRecord, SeenRun } from "./watcher.ts";

const runId = "00000000-0000-7000-8000-000000000001";
const errand = {
  runId,
  id: "errand-1",
  parcels: ["one"],
  slow: "none" as const,
  code: "yes",
  hurry: "quick",
  cancelAfterMs: undefined,
  isDelivered: false,
  fails: false,
};
const text = (value: unknown) => encode(value, { what: "a value" });

/** The records of a run in their order: the kind, the path and the value of each. */
const history: readonly (readonly [kind: string, path: string, value?: unknown])[] = [
  ["step", "first", "first a"],
  ["step", "flaky", "flaky a"],
  ["sleep", "rest"],
  ...notes.map((note, index) => ["signal", `note#${index + 1}`, note] as const),
  ["step", "approval/announce", undefined],
  ["callback", "approval", { code: "yes" }],
  ["step", "ship[0]/pack", "pack a"],
  ["step", "ship[0]/send", "send a"],
  ["step", "left", "left a"],
  ["step", "right", "right a"],
  ["child", tripPath, "trip a"],
  ["sleep", "beside"],
  ["signal", "hurry or late[0]/hurry", "quick"],
  ["step", "refused", "no"],
  ["step", "last", "last a"],
  ["step", tidy, "tidy a"],
];
const recordsOf = (given: typeof history): readonly SeenRecord[] =>
  given.map(([kind, path, value], index) => ({
    ...{ position: index + 1, kind, path, occurrence: 1, isFailure: path === "refused", attempts: 1 },
    ...{ value: value === undefined ? null : text(value), recordedAt: `2026-01-01T12:00:${10 + index}+00:00` },
  }));
const records = recordsOf(history);
const effects: readonly Effect[] = history.flatMap(([kind, path, value]) =>
  !["step", "child"].includes(kind) || path === "refused"
    ? []
    : {
        ...{ runId, path, attempt: 1, idempotencyKey: path, pid: 1, value: String(value), seen: ["first a"] },
        token: path === "approval/announce" ? "token" : null,
      },
);
const result = {
  ...{ first: "first a", flaky: "flaky a", notes, approval: "yes", sent: ["send a"], beside: ["left a", "right a"] },
  trip: "trip a",
  ...{ hurry: "quick", refused: refusal, last: "last a" },
};
const run: SeenRun = {
  ...{ runId, status: "completed", blocked: null, endedAt: "2026-01-01", result: text(result), error: null },
  ...{ records, attempted: [], token: "token" },
};
const signals = records
  .filter(({ kind }) => kind === "signal")
  .map(({ path, value, position }) => ({
    name: path.includes("note") ? "note" : "hurry",
    payload: value ?? "",
    position,
  }));
const right: Evidence = { errand, run, effects, begun: {}, signals, isCancelled: false };

const withRecords = (change: (records: readonly SeenRecord[]) => readonly SeenRecord[]): Evidence => ({
  ...right,
  run: { ...run, records: change(records) },
});
const effectOf = (path: string): Effect => {
  const effect = effects.find((candidate) => candidate.path === path);
  if (effect === undefined) throw new Error(`there is no ${path}`);
  return effect;
};

test("a run that ended right has no fault", () => {
  expect(faultsOf(right)).toEqual([]);
});

describe("a fault is", () => {
  test.each<[string, Evidence, string]>([
    ["a run that is lost", { ...right, run: undefined }, "is not there"],
    ["a run that is not over", { ...right, run: { ...run, status: "parked", blocked: "why" } }, "is parked (why)"],
    ["a gap", withRecords((all) => all.filter(({ path }) => path !== "left")), "has the positions"],
    [
      "a place recorded twice",
      withRecords((all) => [...all, ...all.slice(0, 1).map((one) => ({ ...one, position: 19 }))]),
      "twice",
    ],
    ["time that goes back", withRecords((all) => all.toReversed()), "goes back in time"],
    [
      "a body that never ran",
      { ...right, effects: effects.filter(({ path }) => path !== "left") },
      "never ran the body",
    ],
    [
      "a result that no body gave",
      { ...right, effects: effects.map((one) => ({ ...one, value: `${one.value}b` })) },
      "that no body gave",
    ],
    [
      "another past at another execution",
      { ...right, effects: [...effects, { ...effectOf("last"), seen: [] }] },
      "saw another past",
    ],
    [
      "a past that was never recorded",
      { ...right, effects: effects.map((one) => ({ ...one, seen: ["first b"] })) },
      "saw at first what was never recorded",
    ],
    [
      "another idempotency key",
      { ...right, effects: [...effects, { ...effectOf("last"), idempotencyKey: "other" }] },
      "several idempotency keys",
    ],
    ["a signal that was lost", { ...right, signals: signals.slice(1) }, "has stored the notes"],
    ["a signal taken twice", { ...right, signals: [...signals, ...signals.slice(0, 1)] }, "took two signals"],
    [
      "signals in another order",
      { ...right, run: { ...run, result: text({ ...result, notes: [2, 1, 3] }) } },
      "has the result",
    ],
    ["another result", { ...right, run: { ...run, result: text({ ...result, last: "last b" }) } }, "has the result"],
    ["a winner from nowhere", { ...right, run: { ...run, result: text({ ...result, hurry: "?" }) } }, "has the winner"],
  ])("%s", (_, evidence, fault) => {
    expect(faultsOf(evidence).join("\n")).toContain(fault);
  });
});

describe("a run that is cancelled", () => {
  const told = ["closing", ""] as const;
  const cancelled = (given: readonly (readonly [kind: string, path: string, value?: unknown])[]): Evidence => ({
    ...right,
    isCancelled: true,
    signals: [],
    run: { ...run, status: "cancelled", result: null, records: recordsOf(given) },
  });
  const [first, , , ...rest] = history;
  const last = rest.at(-1);
  if (first === undefined || last === undefined) throw new Error("the history is short");

  test("has no fault if it did nothing but clean up once it was told", () => {
    expect(faultsOf(cancelled([first, told, last]))).toEqual([]);
  });

  test("has no fault if it did nothing, since nobody had claimed it", () => {
    expect(faultsOf({ ...cancelled([]), effects: [], begun: {} })).toEqual([]);
  });

  test.each<[string, Evidence, string]>([
    ["that it did something, and was not told", { ...cancelled([]), effects: effects.slice(0, 1) }, "was not told"],
    ["that a body began, and it was not told", { ...cancelled([]), effects: [], begun: { first: 1 } }, "was not told"],
    ["that it completed", { ...right, isCancelled: true }, "is completed, not cancelled"],
    ["that nobody cancelled it", { ...cancelled([first, told, last]), isCancelled: false }, "is cancelled"],
    ["that it was not told", cancelled([first, last]), "was not told"],
    ["that it did not clean up", cancelled([first, told]), "did not clean up"],
    ["that it went on", cancelled([told, first, last]), "recorded first after its cancel"],
    [
      "that its cleanup had no effect",
      { ...cancelled([first, told, last]), effects: effects.filter(({ path }) => path !== tidy) },
      "never ran the body",
    ],
  ])("has the fault %s", (_, evidence, fault) => {
    expect(faultsOf(evidence).join("\n")).toContain(fault);
  });
});

describe("a run that is undone", () => {
  const owed = [
    { path: "left", occurrence: 1 },
    { path: "first", occurrence: 1 },
  ];
  const undone = ["left", "first"].map((path) => ["step", `[undo]/${path}`, `undo ${path}`] as const);
  const undoing = (order: typeof owed, undos: typeof history, left = ["ship[0]/pack", "right", tripPath]): Evidence => {
    const done = [...history.filter(([, path]) => !left.includes(path)), ...undos];
    const error = text({ name: "Error", message: failure });
    const all = recordsOf([...done.slice(0, -undos.length), ["ending", ""], ...undos]).map((record) =>
      record.kind === "ending"
        ? { ...record, value: JSON.stringify({ next: "cancelled", error, owed: order }) }
        : record,
    );
    const traces = undos.map(([, path, value]) => ({
      ...effectOf("first"),
      path,
      value: String(value),
      idempotencyKey: path,
    }));
    const paths = new Set(done.map(([, path]) => path));
    return {
      ...{ ...right, errand: { ...errand, fails: true }, isCancelled: true, signals: [] },
      run: { ...run, status: "cancelled", result: null, error, records: all },
      effects: [...effects.filter(({ path }) => paths.has(path)), ...traces],
    };
  };
  /** `told`: what the undo of the invoked run has seen last. */
  const undoingTrip = (told: string): Evidence => {
    const evidence = undoing(
      [{ path: tripPath, occurrence: 1 }, ...owed.slice(1)],
      [
        ["step", `[undo]/${tripPath}`, "undo trip"],
        ["step", "[undo]/first", "undo first"],
      ],
      ["ship[0]/pack", "left", "right"],
    );
    const seen = (one: Effect) => (one.path === `[undo]/${tripPath}` ? [...one.seen, told] : one.seen);
    return { ...evidence, effects: evidence.effects.map((one) => ({ ...one, seen: seen(one) })) };
  };
  const undoFaultsOf = (evidence: Evidence) => faultsOf(evidence).filter((fault) => /ow[en]|undo/.test(fault));

  test("has no fault if what it began is undone, the last one first", () => {
    expect(undoFaultsOf(undoing(owed, undone))).toEqual([]);
  });

  test("has no fault if the undo of a run that it invoked is told its result", () => {
    const evidence = undoingTrip("trip a");
    expect(undoFaultsOf(evidence)).toEqual([]);
  });

  test.each<[string, Evidence, string]>([
    ["that an undo is not told its result", undoingTrip("first a"), "trip a, and was told undefined"],
    ["that one is not undone", undoing(owed, undone.slice(0, 1)), "and has undone [undo]/left"],
    ["that one is not owed", undoing(owed.slice(0, 1), undone.slice(0, 1)), "does not owe [undo]/first"],
    ["that the first one is undone first", undoing(owed.toReversed(), undone.toReversed()), "undoes in the order"],
    [
      "that one was never begun",
      undoing([{ path: "right", occurrence: 1 }, ...owed], [["step", "[undo]/right", "x"], ...undone]),
      "never begun",
    ],
    ["that nobody was to undo it", { ...undoing(owed, undone), errand }, "never begun"],
  ])("has the fault %s", (_, evidence, fault) => {
    expect(faultsOf(evidence).join("\n")).toContain(fault);
  });
});

test("a step that was given up counts as worn out only if it was tried again and again", () => {
  const error =
    'step "first" failed after 1 attempt: LayoverError: step "first" was begun again and again, and none of its …';
  const givenUp = { ...right, run: { ...run, status: "failed", error } };
  expect(isWornOut(givenUp)).toBe(false);
  expect(isWornOut({ ...givenUp, begun: { first: 3, flaky: 9 } })).toBe(false);
  expect(isWornOut({ ...givenUp, begun: { first: 4 } })).toBe(true);
  expect(isWornOut(right)).toBe(false);
});
