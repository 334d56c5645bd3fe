/**
 * The hooks that a user gives. A hook that throws, or answers a promise that rejects, fails no run and ends no process.
 */
import { errorIn, reportTo, type Tell } from "./events.ts";
import type { EngineOptions } from "./options.ts";

type Hooks = Pick<EngineOptions, "onLog" | "onEvent" | "onError" | "onElsewhere" | "onMistake">;

/**
 * Makes hooks that never throw. The new `onEvent` also tells `onError` of errors, so the answer has no `onError`:
 * nobody can tell it twice. An error that `onEvent` or `onError` throws is dropped. An error of another hook is
 * reported.
 */
export function guardHooks<Given extends Hooks>(given: Given): Given & { readonly onEvent: Tell } {
  const { onLog, onEvent, onError, onElsewhere, onMistake } = given;
  const tellError = guard(onError, () => {});
  const tellOwner = guard(onEvent, (error) => tellError(error, "calling onEvent"));
  const tell: Tell = (event) => {
    tellOwner(event);
    const told = errorIn(event);
    if (told !== undefined) tellError(...told);
  };
  const report = reportTo(tell);
  return {
    ...given,
    onEvent: tell,
    onError: undefined,
    ...(onLog !== undefined && { onLog: guard(onLog, (error) => report(error, "calling onLog")) }),
    ...(onMistake !== undefined && { onMistake: guard(onMistake, (error) => report(error, "calling onMistake")) }),
    ...(onElsewhere !== undefined && {
      onElsewhere: guard(onElsewhere, (error) => report(error, "calling onElsewhere")),
    }),
  };
}

function guard<Told extends readonly unknown[]>(
  hook: ((...told: Told) => unknown) | undefined,
  onThrown: (error: unknown) => void,
): (...told: Told) => void {
  if (hook === undefined) return () => {};
  return (...told) => {
    try {
      const answer = hook(...told);
      if (answer !== undefined) Promise.resolve(answer).catch(onThrown);
    } catch (error) {
      onThrown(error);
    }
  };
}
