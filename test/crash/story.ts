/** A run from its start to its end, with everything that happens to it from outside, and what its steps did. */

import type { Duration, StepContext, Workflow } from "layover";
import type { HistoryView } from "../../src/client/history-view.ts";
import type { RunView } from "../../src/client/run-view.ts";
import type { World } from "../engine/world.ts";
import type { WorldOptions } from "../engine/world-options.ts";
import type { TestDatabase } from "../postgres/database.ts";

/** What steps do to the world outside, which tells a repetition by its idempotency key, as a bank does. */
export class Effects {
  /** How often each step's body ran, by its key. */
  readonly bodies = new Map<string, number>();
  /** Tokens that were announced, by key. */
  readonly tokens = new Map<string, string>();
  readonly #names = new Map<string, string>();

  /** The same for every repetition. */
  happen(name: string, { idempotencyKey }: StepContext): string {
    this.bodies.set(idempotencyKey, (this.bodies.get(idempotencyKey) ?? 0) + 1);
    this.#names.set(idempotencyKey, name);
    return `${name} is done`;
  }

  /** The names of all that happened, each once, however often its body ran. */
  get names(): readonly string[] {
    return [...this.#names.values()].toSorted();
  }
}

export interface Told {
  readonly world: World;
  readonly effects: Effects;
  readonly workflow: Workflow;
  readonly view: RunView;
  readonly history: HistoryView;
}

export type TellOptions = Pick<WorldOptions, "platform" | "batch" | "invocation" | "warmRuns" | "processes">;

/** Plays the story in a new world; `prepare` lays its traps before anything happens. */
export type Tell = (database: TestDatabase, options: TellOptions, prepare: (world: World) => void) => Promise<Told>;

/** Cancels the run of a story after this time, and tells how it ended. */
export async function tellCancelled(
  story: Pick<Told, "world" | "effects" | "workflow">,
  run: { readonly runId: string },
  after: Duration,
): Promise<Told> {
  const { world } = story;
  await world.pass(after);
  await world.ask((client) => client.cancel(run.runId, { reason: "ordered twice" }));
  const view = await world.run(run);
  return { ...story, view, history: await world.history(run) };
}
