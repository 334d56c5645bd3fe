/** Hears what the database answers to a call, so that it can be told later, when the call's turn has come. */
import type { Query, Row } from "../../src/core/ports.ts";

interface ListeningOptions {
  readonly note: (line: () => string) => void;
  readonly describeAnswer: (rows: readonly Row[]) => string | undefined;
}

/** A way to the database whose answers are heard. */
interface Listening {
  readonly query: Query;
  /** Notes what was answered. */
  readonly note: () => void;
  /** Tells whether it was answered that there was nothing to prune: most ticks hear that, and no look shows anything. */
  readonly hasPrunedNothing: () => boolean;
}

/** Keeps what is answered, so that it can be noted when its turn comes. */
export function listen(query: Query, { note, describeAnswer }: ListeningOptions): Listening {
  let answer: string | undefined;
  let pruned: unknown;
  const heard = async (...statement: Parameters<Query>) => {
    const rows = await query(...statement);
    answer = describeAnswer(rows);
    pruned = Object(rows[0]?.["answer"]).pruned;
    return rows;
  };
  return {
    query: Object.assign(heard, { endpoint: query.endpoint }),
    note: () => {
      if (answer !== undefined) note(() => `  → ${answer}`);
    },
    hasPrunedNothing: () => pruned === 0,
  };
}
