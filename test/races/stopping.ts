/** What a person does to a run that owes undos, and what is done at once. */
import type { Run } from "./runs.ts";
import type { Session, Stage } from "./stage.ts";

export const operate = (verb: "cancel" | "pause" | "resume" | "terminate", run: Run) => (session: Session) =>
  run.operate(session, verb);

/** Does it at once, by itself. */
export const nowOn =
  (stage: Stage) =>
  <Result>(act: (session: Session) => Promise<Result>) =>
    act(stage.onlooker);

/** The answer to what does not apply to a run that is being undone. */
export const notApplicable = { outcome: "not_applicable", status: "compensating" };
