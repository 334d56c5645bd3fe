/** The diagnosis that the doctor asks for, and runs that are given what it looks at. */
import { makeCalls } from "../../src/postgres/calls.ts";
import { aStart, Run } from "../races/runs.ts";
import { type Stage, stageOn } from "../races/stage.ts";
import type { SuiteDatabase } from "./database.ts";

type Diagnosis = Awaited<ReturnType<ReturnType<typeof makeCalls>["diagnose"]>>;

interface Diagnosing {
  readonly stage: Stage;
  readonly diagnose: (namespace?: string) => Promise<Diagnosis>;
  /** Changes the row of a run by these assignments of SQL. */
  readonly set: (run: Run, assignments: string) => Promise<unknown>;
  /** Starts a run of this workflow. */
  readonly aRunOf: (workflow: string, version?: number) => Promise<Run>;
}

export function diagnosing(database: SuiteDatabase): Diagnosing {
  const stage = stageOn(database, { breaks: ["due may be early, never late (by more than two minutes)"] });
  return {
    stage,
    diagnose: async (namespace = "default") =>
      await makeCalls({ query: database.query, namespace, alarm: async () => {} }).diagnose(),
    set: (run, assignments) =>
      stage.onlooker.query(`update layover.run_state set ${assignments} where run_id = $1`, [run.id]),
    aRunOf: async (workflow: string, version = 1) => {
      const start = { ...aStart(), workflow, version };
      await stage.onlooker.call("start_run", start);
      return new Run(stage, start.runId);
    },
  };
}
