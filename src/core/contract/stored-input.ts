/** The input of a run that is to be started. It is parsed once, and what the schema makes of it is stored. */
import { toStored } from "../codec/stored-value.ts";
import { LayoverError } from "../errors.ts";
import { parse } from "./schema.ts";
import { isSensitive } from "./sensitive.ts";
import type { Startable } from "./startable.ts";

/** @throws LayoverError `invalid_input`, `value_too_large` … */
export async function storedInput(
  contract: Startable,
  input: unknown,
  { maxBytes }: { readonly maxBytes?: number } = {},
): Promise<string> {
  const what = `the input of workflow ${JSON.stringify(contract.name)}`;
  const terms = { what, isSensitive: isSensitive(contract, "input") };
  return toStored(await parsedInput(contract, input, terms), { ...terms, ...(maxBytes !== undefined && { maxBytes }) });
}

async function parsedInput(
  contract: Startable,
  input: unknown,
  { what, isSensitive }: { readonly what: string; readonly isSensitive: boolean },
): Promise<unknown> {
  if (contract.input !== undefined)
    return await parse(contract.input, input, { code: "invalid_input", what, isSensitive });
  if (input === undefined) return undefined;
  throw new LayoverError("invalid_input", `${what} was given, but its contract takes none`, {
    hint: "Leave the input out, or give the contract an `input` schema.",
    details: { field: "input" },
  });
}
