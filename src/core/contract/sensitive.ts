/** Which values of a contract are sensitive. Their stored text is marked (codec.ts), and the mark goes wherever the text goes. */
import { LayoverError } from "../errors.ts";
import type { Schemas } from "./schema.ts";
import type { Startable } from "./startable.ts";

/** A value of a contract, by its place: the input, the result, the payload of a signal, the answer to a callback. */
export type SensitivePart<Signals extends Schemas, Callbacks extends Schemas> =
  | "input"
  | "output"
  | `signals.${keyof Signals & string}`
  | `callbacks.${keyof Callbacks & string}`;

/** Whether the value at that place of the contract is sensitive. */
export function isSensitive({ sensitive = [] }: Pick<Startable, "sensitive">, part: string): boolean {
  return sensitive.includes(part);
}

/** @throws LayoverError `invalid_name` for a place that the contract does not have */
export function checkSensitive(
  parts: readonly string[],
  {
    name,
    signals = {},
    callbacks = {},
  }: { readonly name: string; readonly signals?: Schemas; readonly callbacks?: Schemas },
): readonly string[] {
  const named = [
    ...Object.keys(signals).map((each) => `signals.${each}`),
    ...Object.keys(callbacks).map((each) => `callbacks.${each}`),
  ];
  const unknown = parts.find((part) => !["input", "output", ...named].includes(part));
  if (unknown === undefined) return parts;
  throw new LayoverError(
    "invalid_name",
    `workflow "${name}" has nothing at ${JSON.stringify(unknown)} that may be sensitive`,
    {
      hint: "Write input, output, signals.NAME or callbacks.NAME.",
    },
  );
}
