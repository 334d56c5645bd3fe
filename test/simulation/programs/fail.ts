/** The handler itself throws. */
import fc from "fast-check";
import { NonRetryableError } from "layover";
import { markOf, type Program, type Verb } from "./part.ts";
import { throwing } from "./prospects.ts";
import { like } from "./thrown.ts";

const errors = {
  Error,
  NonRetryableError,
  TypeError,
};

export function failing(name: keyof typeof errors): Program {
  return {
    kind: "fail",
    parts: [],
    play: async ({ at }) => {
      throw new errors[name](markOf("thrown", at));
    },
    prospects: ({ at }) => throwing(like({ name, says: markOf("thrown", at) })),
    inWords: (at) => `await Promise.reject(new ${name}("${markOf("thrown", at)}"))`,
  };
}

export const fail: Verb = {
  weight: 1,
  arbitrary: () => fc.constantFrom("Error" as const, "NonRetryableError" as const, "TypeError" as const).map(failing),
};
