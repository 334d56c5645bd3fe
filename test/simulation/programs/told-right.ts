/** Tells whether an answer of a program is right, for the tests that tell right answers from wrong ones. */
import { allows, type Facts, type Program } from "./program.ts";
import { aStep } from "./step.ts";

export const a = aStep({ name: "a" });
export const b = aStep({ name: "b" });
export const broken = aStep({ name: "c", tries: ["throws", "throws"], maxAttempts: 2 });

export const quiet: Facts = { signals: [], answered: [] };

export function returns(program: Program, value: unknown, facts: Partial<Facts> = {}): boolean {
  return allows(program, { kind: "returned", value }, { ...quiet, ...facts });
}

export function throws(program: Program, error: unknown, facts: Partial<Facts> = {}): boolean {
  return allows(program, { kind: "threw", error }, { ...quiet, ...facts });
}

export function stepError({
  attempts = 2,
  says = "attempt 2 of c@",
  name = "Error",
  code,
}: Record<string, unknown> = {}) {
  const message = `step "c" failed after ${attempts} attempts`;
  return { name: "StepError", message, data: { step: "c", attempts }, cause: { name, message: says, code } };
}
