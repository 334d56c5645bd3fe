/**
 * The `step` of a handler. Each verb takes its place, checks its arguments and becomes a demand: see verbs/. The promise
 * that it gives to the handler is noted, see handed-out.ts.
 */
import { toStored } from "../codec/stored-value.ts";
import type { ResultOf, Startable } from "../contract/startable.ts";
import type {
  CallbackContext,
  InvokeOptions,
  NewRunOptions,
  Question,
  Step,
  StepOptionsOfAnnouncement,
  WaitOptions,
} from "../contract/step.ts";
import { defaultLimits } from "../limits.ts";
import { toRandom, toUuid } from "./seeded.ts";
import { all, inScope, race } from "./verbs/branches.ts";
import { createCallback, waitForCallback } from "./verbs/callbacks.ts";
import { invoke, start } from "./verbs/children.ts";
import { cleanup } from "./verbs/cleanup.ts";
import { continueAsNew } from "./verbs/continue-as-new.ts";
import { map, mapSettled } from "./verbs/map.ts";
import { run } from "./verbs/run.ts";
import { close, waitForSignal } from "./verbs/signals.ts";
import { sleep, sleepUntil } from "./verbs/sleep.ts";
import { StepScope, type StepsOptions } from "./verbs/step-scope.ts";
import { transaction } from "./verbs/transaction.ts";

export function makeStep(options: StepsOptions): Step {
  return stepOf(new StepScope(options, stepOf));
}

function stepOf(scope: StepScope): Step {
  const { execution, prefix } = scope;
  const give = <Result>(verb: string, name: string, promise: Promise<Result>): Promise<Result> =>
    execution.handedOut.give(verb, name, prefix, promise);
  return {
    run: (name, body, options) => give("step", name, run(scope, name, body, options)),
    transaction: (name, body, options) => give("transaction", name, transaction(scope, name, body, options)),
    sleep: (name, duration) => give("sleep", name, sleep(scope, name, duration)),
    sleepUntil: (name, instant) => give("sleep", name, sleepUntil(scope, name, instant)),
    waitForSignal: (name: string, options?: WaitOptions) =>
      give("the wait for signal", name, waitForSignal(scope, name, options)),
    close: (name) => give("close", name, close(scope, name)),
    createCallback: (name, question) => {
      const callback = createCallback(scope, name, question);
      const wait = (options?: WaitOptions) => give("the wait for callback", name, callback.wait(options));
      return { ...callback, wait };
    },
    waitForCallback: (
      name: string,
      announce: (context: CallbackContext) => unknown,
      options?: WaitOptions & StepOptionsOfAnnouncement & Question,
    ) => give("callback", name, waitForCallback(scope, name, announce, options)),
    start: (name: string, contract: Startable, input?: unknown, options?: NewRunOptions) =>
      give("start", name, start(scope, name, contract, input, options)),
    invoke: <C extends Startable>(name: string, contract: C, input?: unknown, options?: InvokeOptions<ResultOf<C>>) =>
      // The child's own contract has made the result.
      give("invoke", name, invoke(scope, name, contract, input, options) as Promise<ResultOf<C>>),
    scope: (name, inside) => give("scope", name, inScope(scope, name, inside)),
    cleanup: (name, inside) => give("cleanup", name, cleanup(scope, name, inside)),
    all: (name, list) => give("all", name, all(scope, name, list)),
    race: (name, list) => give("race", name, race(scope, name, list)),
    map: (name, items, each, options) => give("map", name, map(scope, name, items, each, options)),
    mapSettled: (name, items, each, options) => give("map", name, mapSettled(scope, name, items, each, options)),
    continueAsNew: (input?: unknown) => give("continueAsNew", "continueAsNew", continueAsNew(scope, input)),
    setStatus: (value) =>
      scope.options.say(
        toStored(scope.options.parseStatus(value), { what: "the run's status", maxBytes: defaultLimits.statusBytes }),
      ),
    patched: (name) => scope.options.isPatched(scope.pathOf(name)),
    now: () => new Date(execution.now),
    random: () => toRandom(scope.draw("random")),
    uuid: () => toUuid(scope.draw("uuid")),
  };
}
