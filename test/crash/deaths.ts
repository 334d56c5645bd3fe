/** Lets the process die at chosen calls, and checks what must hold whenever it dies. */
import { expect } from "vitest";
import type { Port } from "../engine/mortal.ts";
import { endings } from "../engine/replaying.ts";
import type { PortCall } from "../engine/world-options.ts";
import type { TestDatabase } from "../postgres/database.ts";
import type { Tell, TellOptions, Told } from "./story.ts";

/** The process dies at this call of this port, before or after the call took effect. */
export interface Death {
  readonly port: Port;
  readonly number: number;
  readonly when: "before" | "after";
}

/**
 * How much later a run may end for each death. The scheduler looks at a run in motion after two minutes at most; a lease
 * of a minute that the dead process held may be over only after that, and then it looks once more.
 */
const latestMsPerDeath = 3 * 60_000;

/** How many calls each port gets when nothing goes wrong. */
export function countCalls({ world }: Told): Record<Port, number> {
  const count = (port: Port) => world.calls.filter((call) => call.port === port).length;
  return { query: count("query"), dispatch: count("dispatch"), alarm: count("alarm"), store: count("store") };
}

export async function tellWithDeaths(
  tell: Tell,
  database: TestDatabase,
  options: TellOptions,
  deaths: readonly Death[],
): Promise<Told> {
  const isThis = (call: PortCall) => (death: Death) => death.port === call.port && death.number === call.number;
  const told = await tell(database, options, (world) => {
    world.fate = (call) => {
      const death = deaths.find(isThis(call));
      return death === undefined ? "passes" : `dies ${death.when}`;
    };
  });
  expect(told.world.deaths).toBeGreaterThan(0); // the call of another death may not come after the first one
  return told;
}

/** Whatever died: the same end, each result once, each body at least once, each effect once, and soon. */
export async function expectSameStory(told: Told, undisturbed: Told): Promise<void> {
  expect(recordsOf(told)).toEqual(recordsOf(undisturbed));
  expect(told.effects.names).toEqual(undisturbed.effects.names);
  await expectSameEnd(told, undisturbed);
}

/** Whatever died: the same end, also when the history is replayed, no body more often than it must, and soon. */
export async function expectSameEnd(
  { world, view, history, effects, workflow }: Told,
  undisturbed: Told,
): Promise<void> {
  const { status, result, error } = undisturbed.view;
  const { stack: _, ...told } = error ?? {}; // a stack differs from time to time
  expect(view).toMatchObject({ status, result, error: error && told });
  const mostAttempts = Math.max(...undisturbed.effects.bodies.values());
  for (const count of effects.bodies.values()) expect(count).toBeLessThanOrEqual(mostAttempts + world.deaths);
  expect(world.time - undisturbed.world.time).toBeLessThanOrEqual(world.deaths * latestMsPerDeath);
  // The process died before it had claimed the run, and then the run was cancelled: its handler has never run.
  const wasNeverClaimed = view.status === "cancelled" && history.records.length === 0;
  if (wasNeverClaimed) return expect(effects.bodies.size).toBe(0);
  const { first, replayed } = await endings(world, workflow, view.runId);
  expect(replayed).toEqual(first);
}

/** The history in an order of its own: side by side, either branch may be recorded first. */
function recordsOf({ history }: Told): readonly string[] {
  expect(history.records.map(({ position }) => position)).toEqual(history.records.map((_, index) => index + 1));
  const times = history.records.map(({ recordedAt }) => recordedAt.getTime());
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  return history.records
    .map(({ kind, path, occurrence, value, isFailure, attempts }) =>
      JSON.stringify({ kind, path, occurrence, value, isFailure, attempts }).replace(startedId, "…"),
    )
    .toSorted();
}

/** Our id of a run that another one has started: each world has its own. */
const startedId = /(?<="runId":")[0-9a-f-]{36}/;
