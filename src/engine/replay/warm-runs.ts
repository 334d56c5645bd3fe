/**
 * Runs that this process keeps in memory, with their handlers at rest, so that they go on without a replay. It keeps
 * only what the database has confirmed. The number of runs and the bytes of their histories are limited: 60 runs of
 * 12 MiB would hold 768 MB.
 *
 * The next turn of a run takes a loaded run for itself. Branches share a loaded run that stands exactly where they
 * were demanded, so one replay serves all of them.
 */
import type { LoadedRun } from "./loaded-run.ts";

/** A run that fans out is loaded twice: at its front, and where its branches were demanded. */
const mostOfOneRun = 3;

export class WarmRuns {
  readonly #capacity: number;
  readonly #mostBytes: number;
  #bytes = 0;
  readonly #loaded = new Map<string, LoadedRun[]>();

  constructor(capacity: number, mostBytes: number) {
    this.#capacity = capacity;
    this.#mostBytes = mostBytes;
  }

  keep(loaded: LoadedRun): void {
    if (this.#capacity === 0) return;
    const kept = (this.#loaded.get(loaded.runId) ?? []).filter(
      ({ epoch, workflow }) => epoch === loaded.epoch && workflow === loaded.workflow,
    );
    this.#put(loaded.runId, [loaded, ...kept.filter((other) => other !== loaded)].slice(0, mostOfOneRun));
    for (const oldest of this.#loaded.keys()) {
      if (this.#loaded.size <= this.#capacity && this.#bytes <= this.#mostBytes) return;
      this.#put(oldest, []);
    }
  }

  /** Takes out the loaded run that is farthest along, unless a branch is at work on it. */
  take(runId: string): LoadedRun | undefined {
    const free = this.#loaded.get(runId)?.filter(({ isBodyAtWork }) => !isBodyAtWork) ?? [];
    const front = free.reduce<LoadedRun | undefined>(
      (first, other) => (first === undefined || other.execution.position > first.execution.position ? other : first),
      undefined,
    );
    if (front !== undefined) this.#remove(front);
    return front;
  }

  /** Finds a loaded run that stands where this branch was demanded. */
  findFor(runId: string, path: string, occurrence: number): LoadedRun | undefined {
    return this.#loaded
      .get(runId)
      ?.find(({ execution }) => execution.find(path, occurrence)?.demandedAfter === execution.position);
  }

  /** Finds a loaded run that stands there. `version`: that of its workflow, which the run may have changed. */
  findAt(runId: string, epoch: number, position: number, version: number | undefined): LoadedRun | undefined {
    return this.#loaded
      .get(runId)
      ?.find(
        ({ execution, workflow, ...loaded }) =>
          loaded.epoch === epoch && execution.position === position && workflow.contract.version === version,
      );
  }

  forget(runId: string): void {
    this.#put(runId, []);
  }

  /** Puts them in as the youngest. */
  #put(runId: string, runs: LoadedRun[]): void {
    for (const { bytes } of this.#loaded.get(runId) ?? []) this.#bytes -= bytes;
    this.#loaded.delete(runId);
    if (runs.length === 0) return;
    this.#loaded.set(runId, runs);
    for (const { bytes } of runs) this.#bytes += bytes;
  }

  #remove(loaded: LoadedRun): void {
    const rest = this.#loaded.get(loaded.runId)?.filter((other) => other !== loaded) ?? [];
    this.#put(loaded.runId, rest);
  }
}
