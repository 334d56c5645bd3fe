/**
 * Which changes of its code a run has met (`step.patched`). The first call that no code before it can have passed answers
 * true, and leaves a marker: where the run stood then. From there on the answer is true in each replay, and before it false.
 */

/** A change that a run has met: `path` is its place, `position` the last record that the handler knew when it asked. */
export interface Patch {
  readonly path: string;
  readonly position: number;
}

export class Patches {
  readonly #known = new Map<string, number>();
  #fresh: Patch[] = [];

  /** Takes the markers that are kept with the run. */
  note(kept: readonly Patch[]): void {
    for (const { path, position } of kept) this.#known.set(path, position);
  }

  /**
   * Answers what the handler is told at `position`.
   *
   * @param isReplay whether the handler was here before
   */
  ask(path: string, position: number, isReplay: boolean): boolean {
    const since = this.#known.get(path);
    if (since !== undefined) return position >= since;
    if (isReplay) return false;
    this.#known.set(path, position);
    this.#fresh.push({ path, position });
    return true;
  }

  /** The markers that no finish has taken yet. */
  get fresh(): readonly Patch[] {
    return this.#fresh;
  }

  /** Takes the markers that a finish is to keep. */
  take(): readonly Patch[] {
    const fresh = this.#fresh;
    this.#fresh = [];
    return fresh;
  }
}
