/** Finishes of branches that were claimed with their path as the token. */
import { noon, type Run } from "./runs.ts";
import type { Session } from "./stage.ts";

export const record = (run: Run, path: string) => (session: Session) =>
  run.finishBranch(session, path, { token: path });

/** The finish of an attempt that has failed. */
export const retry = (run: Run, path: string, retryInMs: number) => (session: Session) =>
  run.finishBranch(session, path, {
    token: path,
    attempt: { number: 1, beganAt: noon, endedAt: noon, error: "0null", retryInMs },
  });
