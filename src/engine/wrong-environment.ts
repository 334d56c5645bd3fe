/** The error of a claim or a tick in a database that belongs to another environment. */
import { LayoverError } from "../core/errors.ts";

export function wrongEnvironment(environment: string): LayoverError {
  return new LayoverError(
    "wrong_environment",
    `this database is not known as environment "${environment}" at this address`,
    {
      hint: "It is a copy, was restored or upgraded, has a new address, or two deployments share it: npx layover doctor says which. If its runs are to be carried out here: npx layover adopt. If only the address is new: npx layover adopt --address",
      details: { environment },
    },
  );
}
