/** The beginning of a fork's history: the records that were copied from the history of another run. */
import type { Segments } from "./segments.ts";

export class Copied {
  /** Resolves when the handler was handed the last of these records. Never, if there are none. */
  readonly over: Promise<void>;
  readonly #count: number;
  #end: () => void = () => {};

  constructor(segments: Segments | undefined, runId: string | undefined) {
    this.#count = segments === undefined || runId === undefined ? 0 : segments.countBefore(runId);
    this.over = new Promise((resolve) => (this.#end = resolve));
  }

  /** Whether the record at this position was copied. */
  holds(position: number): boolean {
    return position <= this.#count;
  }

  /** Notes that the handler is handed the record at this position. */
  note(position: number): void {
    if (position === this.#count) this.#end();
  }
}
