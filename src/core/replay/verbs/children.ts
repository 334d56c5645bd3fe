/** `step.start` and `step.invoke`: other runs, started from this one. */
import type { Startable } from "../../contract/startable.ts";
import type { InvokeOptions, NewRunOptions } from "../../contract/step.ts";
import { checkTags } from "../../contract/tags.ts";
import { toMilliseconds } from "../../duration.ts";
import { checkName } from "../../names.ts";
import type { NewRun, UndoBody } from "../demand.ts";
import { toRunId } from "../seeded.ts";
import { checkIsNoCleanup } from "./cleanup.ts";
import { checkOptions, invalid } from "./step-checks.ts";
import type { StepScope } from "./step-scope.ts";
import { undoOf } from "./undo.ts";

export async function start(
  scope: StepScope,
  name: string,
  contract: Startable,
  input: unknown,
  options: NewRunOptions = {},
): Promise<{ readonly runId: string }> {
  const what = `start ${JSON.stringify(name)}`;
  checkOptions(what, options, ["id", "tags"]);
  const started = await demandRun(scope, { kind: "start", what, name, contract, input, options });
  return started as { readonly runId: string }; // as start_children records it
}

export async function invoke<Result>(
  scope: StepScope,
  name: string,
  contract: Startable,
  input: unknown,
  options: InvokeOptions<Result> = {},
): Promise<unknown> {
  const what = `invoke ${JSON.stringify(name)}`;
  checkOptions(what, options, ["id", "tags", "timeout", "onParentEnd", "compensate"]);
  const { timeout, onParentEnd = "cancel", compensate } = options;
  if (onParentEnd !== "cancel" && onParentEnd !== "abandon")
    throw invalid(`onParentEnd of ${what} is ${JSON.stringify(onParentEnd)}`, 'Use "cancel" or "abandon".');
  const isBound = onParentEnd === "cancel";
  const timeoutMs = timeout === undefined ? undefined : toMilliseconds(timeout, { field: "timeout" });
  return await demandRun(scope, {
    kind: "child",
    what,
    name,
    contract,
    input,
    options,
    timeoutMs,
    isBound,
    ...(compensate !== undefined && {
      undoFor: (runIdOf) => undoOf(scope, what, compensate, (recordedAt) => ({ runId: runIdOf(recordedAt) })),
    }),
  });
}

interface Asked extends Pick<NewRun, "kind" | "name" | "contract" | "input"> {
  readonly what: string;
  readonly options: NewRunOptions;
  readonly timeoutMs?: number | undefined;
  readonly isBound?: boolean;
  readonly undoFor?: (runIdOf: NewRun["runId"]) => UndoBody;
}

function demandRun(
  scope: StepScope,
  { what, options, timeoutMs, isBound = false, undoFor, ...asked }: Asked,
): Promise<unknown> {
  const { execution } = scope;
  const { id, tags } = options;
  checkIsNoCleanup(scope, what);
  checkContract(what, asked.contract);
  if (id !== undefined) checkName(id, "id");
  if (tags !== undefined) checkTags(tags);
  const at = scope.place(asked.name);
  const { now } = execution;
  const { keySeed, knownRun } = scope.options;
  const runId = (recordedAt: number | undefined) => {
    const made = toRunId(keySeed(`run/${at.path}#${at.occurrence}`, recordedAt), now);
    return asked.kind === "child" ? knownRun(made) : made;
  };
  const until = timeoutMs === undefined ? undefined : now + timeoutMs;
  return execution.demand(at, { ...asked, runId, id, tags, until, timeoutMs, isBound, undo: undoFor?.(runId) });
}

function checkContract(what: string, contract: unknown): void {
  if (typeof contract === "object" && contract !== null && "handler" in contract) return;
  throw invalid(
    `${what} got no contract`,
    `Pass what workflow({ … }) answers: step.${what.split(" ", 1)[0]}("name", order, input).`,
  );
}
