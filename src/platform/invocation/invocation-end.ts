/** What an invocation does before it ends, so that nothing it has begun is lost. */
import type { TurnRef } from "../../core/ports.ts";
import { makeDueAgain } from "../../engine/scheduler/due-again.ts";
import type { TickAnswer } from "../../engine/scheduler/tick.ts";
import type { Calls } from "../../postgres/calls.ts";
import type { Move, NoteCall } from "../../postgres/wire-scheduler.ts";
import { flushed } from "../log/flushed.ts";
import type { Dispatcher, InvocationHost } from "./host.ts";

export interface InvocationEndOptions {
  readonly host: InvocationHost;
  readonly calls: Calls;
  readonly database: { readonly end: () => Promise<void> };
}

export class InvocationEnd {
  readonly #options: InvocationEndOptions;
  /** Ids of the runs of which a turn was dispatched that nobody took. */
  readonly #refused = new Set<string>();
  /** What ticks have moved on before they dispatched it. */
  readonly #moved: (readonly Move[])[] = [];
  #toNote: NoteCall | undefined;

  constructor(options: InvocationEndOptions) {
    this.#options = options;
  }

  noteRefused(turns: readonly TurnRef[]): void {
    for (const { runId } of turns) this.#refused.add(runId);
  }

  noteMoved(moves: readonly Move[]): void {
    this.#moved.push(moves);
  }

  /**
   * Keeps in mind that a tick was the first one of a deployment. New code is to try blocked runs again, and a blocked
   * run has no due instant. So the first tick looks at all runs, and the database notes that it did. It notes this only
   * once the platform has taken everything that the tick has dispatched. If a dispatch is refused or lost, or the tick
   * is cut off before, the next tick looks again.
   */
  noteTick({ hasSeenAll, triedThrough }: TickAnswer): void {
    if (!hasSeenAll && triedThrough === undefined) return;
    const { environment, deployment } = this.#options.host;
    const named = { environment, deploymentName: deployment.name, deployment: deployment.id };
    this.#toNote = { ...named, note: "looked", triedThrough };
  }

  /** Ends the invocation. Answers whether everything that was dispatched was taken. */
  async end(dispatcher: Dispatcher): Promise<boolean> {
    const { host } = this.#options;
    try {
      return await this.#end(dispatcher);
    } finally {
      await flushed(host.engine.telemetry, host.host, host.report);
    }
  }

  async #end(dispatcher: Dispatcher): Promise<boolean> {
    const { host, calls } = this.#options;
    // Whoever waits for other invocations has no connection open meanwhile.
    if (!host.isDispatchedHere) await this.#closeDatabase();
    await dispatcher.settled();
    for (const moves of this.#moved) {
      const again = moves.filter(({ runId }) => this.#refused.has(runId));
      await makeDueAgain(calls, again).catch((error: unknown) => host.report(error, "dispatching"));
    }
    await this.#closeDatabase();
    if (this.#toNote === undefined || !dispatcher.isWhole) return dispatcher.isWhole;
    return await this.#note(this.#toNote);
  }

  async #note(call: NoteCall): Promise<boolean> {
    const { host, calls } = this.#options;
    try {
      await calls.noteDeployment(call);
      host.onFirstTick?.();
      return true;
    } catch (error) {
      host.report(error, "noting the deployment");
      return false;
    } finally {
      await this.#closeDatabase();
    }
  }

  async #closeDatabase(): Promise<void> {
    const { host, database } = this.#options;
    await database.end().catch((error: unknown) => host.report(error, "closing the database"));
  }
}
