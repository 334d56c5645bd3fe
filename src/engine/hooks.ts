/** The hooks that a user gives. One that throws, or answers a promise that rejects, fails no run and ends no process. */
import type { EngineOptions } from "./options.ts";

type Hooks = Pick<EngineOptions, "onLog" | "onError" | "onElsewhere" | "onMistake">;

/** The same hooks, which never throw. `onError` is told what another hook threw; what `onError` throws is dropped. */
export function guardHooks<Given extends Hooks>(given: Given): Given {
  const { onLog, onError, onElsewhere, onMistake } = given;
  const tell = guard(onError, () => {});
  return {
    ...given,
    ...(onError !== undefined && { onError: tell }),
    ...(onLog !== undefined && { onLog: guard(onLog, (error) => tell(error, "calling onLog")) }),
    ...(onMistake !== undefined && { onMistake: guard(onMistake, (error) => tell(error, "calling onMistake")) }),
    ...(onElsewhere !== undefined && {
      onElsewhere: guard(onElsewhere, (error) => tell(error, "calling onElsewhere")),
    }),
  };
}

function guard<Told extends readonly unknown[]>(
  hook: ((...told: Told) => unknown) | undefined,
  onThrown: (error: unknown) => void,
): (...told: Told) => void {
  return (...told) => {
    try {
      Promise.resolve(hook?.(...told)).catch(onThrown);
    } catch (error) {
      onThrown(error);
    }
  };
}
