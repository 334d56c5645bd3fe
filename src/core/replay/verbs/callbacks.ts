/** `step.createCallback` and `step.waitForCallback`: makes a one-time URL, and waits for the answer that comes by it. */
import { endOfToken } from "../../contract/callback.ts";
import { checkQuestion } from "../../contract/question.ts";
import type {
  Callback,
  CallbackContext,
  Question,
  StepContext,
  StepOptionsOfAnnouncement,
  WaitOptions,
} from "../../contract/step.ts";
import { toMilliseconds } from "../../duration.ts";
import { checkIsNoCleanup } from "./cleanup.ts";
import { checkFunction, checkIsDeclared, checkOptions } from "./step-checks.ts";
import type { DemandPlace, StepScope } from "./step-scope.ts";
import { optionsOfWait, wait } from "./wait.ts";

const taken = [...optionsOfWait, "retry", "title", "text"];

export function createCallback(scope: StepScope, name: string, question?: Question): Callback<unknown> {
  return callbackAt(scope, name, scope.place(name), question);
}

export async function waitForCallback(
  scope: StepScope,
  name: string,
  announce: (context: CallbackContext) => unknown,
  options: WaitOptions & StepOptionsOfAnnouncement & Question = {},
): Promise<unknown> {
  const what = `callback ${JSON.stringify(name)}`;
  checkFunction(`what announces the ${what}`, announce, "({ url }) => email(url)");
  checkOptions(what, options, taken);
  const { retry, title, text, ...wanted } = options;
  const timeoutMs = options.timeout === undefined ? undefined : toMilliseconds(options.timeout, { field: "timeout" });
  const question = { ...(title !== undefined && { title }), ...(text !== undefined && { text }) };
  const at = scope.place(name);
  const { execution } = scope;
  const make = () => callbackAt(scope, name, at, question, timeoutMs);
  const callback = make();
  const prefix = `${scope.region(name)}/`;
  const tell = ({ url, token }: Callback<unknown>) => {
    const announces = { path: at.path, occurrence: at.occurrence, epoch: scope.options.callbackEpoch() };
    const body = async (context: StepContext) => {
      await announce({ ...context, url, token });
    };
    return scope.inside(prefix, { announces }).run("announce", body, retry === undefined ? {} : { retry });
  };
  await tell(callback);
  const waiting = callback.wait(wanted);
  if (!execution.copied.holds(execution.position)) return waiting;
  // Another run has told the URL, which leads to that run. If the answer was not copied, too, this run tells its own URL.
  await Promise.race([waiting.catch(() => {}), execution.copied.over]);
  if (!execution.withdraw(at)) return waiting;
  const own = make();
  await tell(own);
  return own.wait(wanted);
}

/** `timeoutMs`: the timeout of its wait, if it is known already. */
function callbackAt(
  scope: StepScope,
  name: string,
  at: DemandPlace,
  question: Question = {},
  timeoutMs?: number,
): Callback<unknown> {
  const { execution, options } = scope;
  checkIsNoCleanup(scope, `callback ${JSON.stringify(name)}`);
  checkIsDeclared("callback", name, options.callbacks);
  const { path, occurrence } = at;
  const mayBeTold = execution.outcome === undefined; // no step of a handler that has ended is carried out
  if (mayBeTold) execution.failing.noteCallback(at);
  const epoch = options.callbackEpoch();
  const endsAt = endOfToken(execution.now, timeoutMs === undefined ? undefined : execution.now + timeoutMs);
  let waiting: Promise<unknown> | undefined;
  return {
    ...options.sealCallback({ ...checkQuestion(question), name, path, occurrence, endsAt }),
    wait: (waitOptions?: WaitOptions) => {
      waiting ??= wait(execution, { kind: "callback", name, at, epoch }, waitOptions);
      return waiting;
    },
  };
}
