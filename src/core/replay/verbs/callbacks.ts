/** `step.createCallback` and `step.waitForCallback`: makes a one-time URL, and waits for the answer that comes by it. */
import { endOfToken } from "../../contract/callback.ts";
import { checkQuestion } from "../../contract/question.ts";
import type {
  Callback,
  CallbackContext,
  Question,
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
  const callback = callbackAt(scope, name, at, question, timeoutMs);
  const { path, occurrence } = at;
  const epoch = scope.options.callbackEpoch();
  const announcing = scope.inside(`${scope.region(name)}/`, { announces: { path, occurrence, epoch } });
  await announcing.run(
    "announce",
    async (context) => {
      await announce({ ...context, url: callback.url, token: callback.token });
    },
    retry === undefined ? {} : { retry },
  );
  return callback.wait(wanted);
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
