/** The steps that run at most once and have no record. If their run fails, a retry asks for them again, and must not run a body twice. */
import { type Demand, placeName } from "./demand.ts";

interface Place {
  readonly path: string;
  readonly occurrence: number;
}

export class OnceSteps {
  /** How many attempts each may have, by its place. */
  readonly #open = new Map<string, Place & { readonly maxAttempts: number }>();

  /** Notes a step that the handler has asked for. */
  note({ path, occurrence, wanted }: Demand): void {
    if (wanted.kind !== "step" || wanted.isAtMostOnce !== true) return;
    this.#open.set(placeName({ path, occurrence }), { path, occurrence, maxAttempts: wanted.retry.maxAttempts });
  }

  /** Notes the record of a step. */
  noteRecord(record: Place): void {
    this.#open.delete(placeName(record));
  }

  /** Whether one has no record, so that only the database knows whether it has begun. */
  get hasOpen(): boolean {
    return this.#open.size > 0;
  }

  /** Lists those whose last attempt has begun, and nobody knows how it ended. `attempted`: the steps that have begun. */
  lapsed(attempted: readonly (Place & { readonly attempts?: number })[]) {
    return attempted.flatMap(({ attempts = 1, ...place }) => {
      const open = this.#open.get(placeName(place));
      if (open === undefined || attempts < open.maxAttempts) return [];
      return [{ path: open.path, occurrence: open.occurrence, attempts }];
    });
  }
}
