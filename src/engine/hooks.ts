/** The hooks that a user gives. One that throws, or answers a promise that rejects, fails no run and ends no process. */
import { errorIn, reportTo, type Tell } from "./events.ts";
import type { EngineOptions } from "./options.ts";

type Hooks = Pick<EngineOptions, "onLog" | "onEvent" | "onError" | "onElsewhere" | "onMistake">;

/**
 * The same hooks, which never throw. `onEvent` tells `onError` of errors as well, which is left out of the answer, so that
 * whoever is handed these hooks cannot tell it twice. What another hook throws is an error; what these two throw is dropped.
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
