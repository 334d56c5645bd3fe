/** Rows that a test writes, changes and looks at by hand, past the functions: columns are given as SQL. */
import type { Run } from "./runs.ts";
import type { Stage } from "./stage.ts";

export type Columns = Readonly<Record<string, string>>;

export function rowsOn(stage: Stage) {
  const write = (table: string, { id }: Run, columns: Columns) =>
    stage.onlooker.query(
      `insert into layover.${table} (run_id, ${Object.keys(columns).join(", ")}) values ($1, ${Object.values(columns).join(", ")})`,
      [id],
    );
  const set = (table: string, { id }: Run, assignments: string) =>
    stage.onlooker.query(`update layover.${table} set ${assignments} where run_id = $1`, [id]);
  return {
    write,
    /** Changes the run's own row. */
    set: (run: Run, assignments: string) => set("run_state", run, assignments),
    /** Changes the rows of all that the run waits for. */
    setWaits: (run: Run, assignments: string) => set("pending", run, assignments),
    /** The run's own row. */
    state: async (run: Run, columns: string) =>
      (await stage.look(`select ${columns} from layover.run_state where run_id = $1`, [run.id]))[0],
    /** A row of what a run waits for, at the place `it`. */
    wait: (run: Run, kind: string, more: Columns = {}) =>
      write("pending", run, {
        ...{ kind: `'${kind}'`, path: "'it'", occurrence: "1", demanded_after: "0", ordinal: "1" },
        ...more,
      }),
    /** The answer to the callback `it`. */
    answer: (run: Run, more: Columns = {}) =>
      write("callback", run, {
        ...{ epoch: "0", path: "'it'", occurrence: "1", outcome: "'resolved'", value: "'0null'" },
        ...{ answered_at: "layover.now()", ...more },
      }),
  };
}

/** The columns of a wait for a run that has ended. */
export const ended: Columns = { child_status: "'completed'", child_ended_at: "layover.now()" };
