/**
 * The hooks that a user gives. A hook that throws, or answers a promise that rejects, fails no run and ends no process.
 */
import { errorIn, type Mistake, reportTo, type Tell } from "./events.ts";
import type { EngineOptions } from "./options.ts";

type Hooks = Pick<EngineOptions, "onLog" | "onEvent" | "onError" | "onElsewhere" | "onMistake">;

/**
 * Makes hooks that never throw. The new `onEvent` also tells the other hooks of the events that they are for. So the
 * answer has none of those hooks, and nobody can tell them anything past `onEvent`. An error that `onEvent` or `onError`
 * throws is dropped. An error of another hook is reported.
 */
export function guardHooks<Given extends Hooks>(given: Given): Given & { readonly onEvent: Tell } {
  const { onLog, onEvent, onError, onElsewhere, onMistake } = given;
  const tellError = guard(onError, () => {});
  const tellOwner = guard(onEvent, (error) => tellError(error, "calling onEvent"));
  const tell: Tell = (event) => {
    tellOwner(event);
    const told = errorIn(event);
    if (told !== undefined) tellError(...told);
    if (event.kind === "handler_logged") log(withoutKind(event));
    if (event.kind === "handler_mistaken") tellMistake(withoutKind(event));
  };
  const report = reportTo(tell);
  const log = guard(onLog, (error) => report(error, "calling onLog"));
  const tellMistake =
    onMistake === undefined
      ? ({ code, ...entry }: Mistake) => log({ level: "warn", fields: { code }, ...entry })
      : guard(onMistake, (error) => report(error, "calling onMistake"));
  return {
    ...given,
    onEvent: tell,
    onError: undefined,
    onLog: undefined,
    onMistake: undefined,
    ...(onElsewhere !== undefined && {
      onElsewhere: guard(onElsewhere, (error) => report(error, "calling onElsewhere")),
    }),
  };
}

function withoutKind<Told extends object>({ kind: _, ...told }: Told & { readonly kind: string }): Omit<Told, "kind"> {
  return told;
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
