/** The store of a world, and what must hold of it at the end: nothing is lost that a run needs, and nothing lies there that no row names. */
import type pg from "pg";
import { readReference } from "../../src/postgres/store/reference.ts";
import { MemoryStore } from "../postgres/store/memory-store.ts";
import type { Snapshot } from "./snapshot.ts";

interface Referring {
  readonly runId: string;
  readonly text: string;
}

export class Values {
  readonly store = new MemoryStore();

  /** Answers the text that a reference stands for, or any other text as it is. */
  textOf(text: string): string {
    const reference = readReference(text);
    const bytes = reference === undefined ? undefined : this.store.values.get(reference.key);
    return bytes === undefined ? text : new TextDecoder().decode(bytes);
  }

  /** Answers the rows with their values. */
  opened({ runs, ...others }: Snapshot): Snapshot {
    const opened = (text: string | null) => (text === null ? null : this.textOf(text));
    const all = runs.map(({ end, ending, steps, ...run }) => ({
      ...run,
      end: opened(end),
      ending: ending === null ? null : { ...ending, value: this.textOf(ending.value) },
      steps: steps.map(({ failure, ...step }) => ({ ...step, failure: opened(failure) })),
    }));
    return { ...others, runs: all };
  }

  async judge(pool: pg.Pool): Promise<readonly string[]> {
    const named = await pool.query<{ runId: string; key: string }>(
      `select run_id as "runId", key from layover.stored_value`,
    );
    const referring = await pool.query<Referring>(
      `select run_id as "runId", value as text from layover.record where value like '2stored.%'
       union all select id, input from layover.run where input like '2stored.%'
       union all select run_id, coalesce(result, error) from layover.run_state where coalesce(result, error) like '2stored.%'`,
    );
    return [...this.#wrong(named.rows, referring.rows)];
  }

  *#wrong(named: readonly { readonly runId: string; readonly key: string }[], referring: readonly Referring[]) {
    const held = new Set(named.map(({ runId, key }) => `${runId} ${key}`));
    const names = new Set(named.map(({ key }) => key));
    for (const { runId, text } of referring) {
      const key = readReference(text)?.key ?? "";
      if (!this.store.values.has(key)) yield `of ${runId}: the store has lost one of its values`;
      if (!held.has(`${runId} ${key}`)) yield `of ${runId}: no row says that it holds one of its values`;
    }
    for (const key of this.store.values.keys()) if (!names.has(key)) yield "the store has a value that no row names";
  }
}
