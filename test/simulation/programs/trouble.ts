/** What may befall an attempt of a step, and what the step fails with if that was the last one. */
import { NonRetryableError, RetryAfterError } from "layover";
import type { ProgramWorld } from "./part.ts";
import type { Match } from "./prospects.ts";
import { like, type Thrown, type ThrownPattern } from "./thrown.ts";

export const troubles = ["throws", "hangs", "is late", "asks for time", "refuses", "is unstorable"] as const;
export type Trouble = (typeof troubles)[number];

interface Suffering {
  readonly says: string;
  readonly world: ProgramWorld;
  readonly delay: number;
  readonly timeout: number;
  readonly abortSignal: AbortSignal;
}

/** Does it, in the body of a step. */
export function suffer(trouble: Trouble, { says, world, delay, timeout, abortSignal }: Suffering): unknown {
  switch (trouble) {
    case "throws":
      throw new Error(says);
    case "refuses":
      throw new NonRetryableError(says);
    case "asks for time":
      throw new RetryAfterError(says, 3 * delay);
    case "hangs":
      return aborted(abortSignal);
    case "is late":
      return world.foreign(timeout + 1_000).then(() => "too late");
    case "is unstorable":
      return () => says;
  }
}

/** A body that is asked to end does so: while it goes on, its process begins no other attempt. */
function aborted(abortSignal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    abortSignal.addEventListener("abort", () => reject(abortSignal.reason));
  });
}

/** Which attempt fails the step for good, if any does. */
export function lastOf(
  list: readonly Trouble[],
  maxAttempts: number,
): { readonly trouble: Trouble; readonly attempt: number } | undefined {
  const index = list.findIndex(
    (trouble, index) => index + 1 >= maxAttempts || trouble === "refuses" || trouble === "is unstorable",
  );
  const trouble = list[index];
  return trouble && { trouble, attempt: index + 1 };
}

export function failedBy(trouble: Trouble, attempts: number, says: string): Match<Thrown> {
  const causes: Record<Trouble, ThrownPattern> = {
    throws: { name: "Error", says },
    refuses: { name: "NonRetryableError", says },
    "asks for time": { name: "RetryAfterError", says },
    hangs: { name: "TimeoutError" },
    "is late": { name: "TimeoutError" },
    "is unstorable": { name: "LayoverError", code: "unstorable_value" },
  };
  return like({ name: "StepError", attempts, cause: causes[trouble] });
}
