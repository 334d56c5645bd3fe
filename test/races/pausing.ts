/** Pauses and resumes runs, and looks at when they time out. */
import type { OperationVerb } from "../../src/postgres/wire-operations.ts";
import type { Run } from "./runs.ts";
import type { Stage } from "./stage.ts";

export function pausesOn(stage: Stage) {
  const operate = (verb: OperationVerb) => (run: Run, more?: Parameters<Run["operate"]>[2]) =>
    run.operate(stage.onlooker, verb, more);
  const [pause, resume] = [operate("pause"), operate("resume")];
  const timeoutOf = async (run: Run) => {
    const [row] = await stage.look(
      "select layover.to_ms(timeout_at)::float8 as at from layover.run_state where run_id = $1",
      [run.id],
    );
    return row?.["at"];
  };
  return { pause, resume, timeoutOf };
}
