/** Pauses and resumes a workflow, page by page the runs of it, and looks at whether they are held. */
import { randomUUID } from "node:crypto";
import type { OperateRunsAnswer, WorkflowAnswer } from "../../src/postgres/wire-operations.ts";
import { aStart, Run, soon } from "./runs.ts";
import type { Session, Stage } from "./stage.ts";

export const workflow = "flow";
/** A run that the pause of its workflow holds. */
export const held = { paused: true, held: true, due: false };
export const free = { paused: false, due: true };

export function workflowPausesOn(stage: Stage) {
  const change =
    (verb: "pause" | "resume") =>
    (by: Session = stage.onlooker, more: object = {}): Promise<WorkflowAnswer> =>
      by.call(`${verb}_workflow`, {
        workflow,
        callId: randomUUID(),
        by: "ada",
        reason: "their API is down",
        ...more,
      });
  const [pause, resume] = [change("pause"), change("resume")];
  const page = (
    verb: "pause" | "resume",
    by: Session = stage.onlooker,
    more: object = {},
  ): Promise<OperateRunsAnswer> =>
    by.call("operate_runs", {
      verb,
      filter: { workflow },
      callId: "019b796d-d600-7000-8000-000000000001",
      limit: 100,
      walk: 100,
      holds: true,
      armed: [soon],
      ...more,
    });
  const start = async (by: Session = stage.onlooker, more: object = {}) => {
    const call = { ...aStart(), ...more };
    return { told: await by.call("start_run", call), run: new Run(stage, call.runId) };
  };
  const rowOf = async (run: Run) => {
    const [row] = await stage.look(
      `select paused_at is not null as paused, is_held as held, due_at is not null as due,
          layover.to_ms(timeout_at)::float8 as "timeoutAt" from layover.run_state where run_id = $1`,
      [run.id],
    );
    return row;
  };
  return { pause, resume, page, start, rowOf };
}
