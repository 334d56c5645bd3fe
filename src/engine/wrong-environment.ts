import { LayoverError } from "../core/errors.ts";

export function wrongEnvironment(environment: string): LayoverError {
  return new LayoverError(
    "wrong_environment",
    `this database is not known as environment "${environment}" at this address`,
    {
      hint: "It is a copy, or two deployments share it. If its runs are to be carried out here: npx layover adopt",
      details: { environment },
    },
  );
}
