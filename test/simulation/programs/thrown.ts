/** What was thrown, as plain data: the same for an error in a handler's hands as for one that ended a run. */
import type { Match } from "./prospects.ts";

export interface Thrown {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  /** How many attempts a StepError tells of. */
  readonly attempts?: number;
  readonly cause?: Thrown;
  /** The names of an AggregateError's errors. */
  readonly errors?: readonly string[];
}

export function thrownOf(error: unknown): Thrown {
  const [name, message, code] = ["name", "message", "code"].map((key) => read(error, key));
  const attempts = read(error, "attempts") ?? read(read(error, "data"), "attempts");
  const cause = read(error, "cause");
  const errors = read(error, "errors") ?? read(read(error, "data"), "errors");
  return {
    name: String(name ?? "Error"),
    message: String(message ?? error),
    ...(typeof code === "string" && { code }),
    ...(typeof attempts === "number" && { attempts }),
    ...(cause !== undefined && { cause: thrownOf(cause) }),
    ...(Array.isArray(errors) && { errors: errors.map((each) => String(read(each, "name"))) }),
  };
}

export interface ThrownPattern {
  readonly name: string;
  /** Text that is found in the message. */
  readonly says?: string;
  readonly code?: string;
  readonly attempts?: number;
  readonly cause?: ThrownPattern;
}

export function like({ name, says = "", code, attempts, cause }: ThrownPattern): Match<Thrown> {
  const isCause = cause && like(cause);
  return (thrown) =>
    thrown.name === name &&
    thrown.message.includes(says) &&
    (code === undefined || thrown.code === code) &&
    (attempts === undefined || thrown.attempts === attempts) &&
    (isCause === undefined || (thrown.cause !== undefined && isCause(thrown.cause)));
}

/** Matches a value that holds what was thrown, as `{ caught: … }`. */
export function holding(key: string, match: Match<Thrown>): Match<unknown> {
  return (value) => {
    const thrown = read(value, key);
    return typeof thrown === "object" && Object.keys(Object(value)).length === 1 && match(thrownOf(thrown));
  };
}

function read(from: unknown, key: string): unknown {
  return typeof from === "object" && from !== null ? Reflect.get(from, key) : undefined;
}
