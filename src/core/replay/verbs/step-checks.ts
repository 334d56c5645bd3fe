/**
 * Checks the arguments of the verbs of `step`, since JavaScript checks none. Each mistake is refused where it is made.
 * The error names what was given, and says what to write instead.
 */
import { LayoverError } from "../../errors.ts";

/** @throws LayoverError `invalid_request` if it is no set of options, or has an option that the verb does not take */
export function checkOptions(what: string, options: unknown, taken: readonly string[]): void {
  const list = () => taken.map((option) => JSON.stringify(option)).join(", ");
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    const given = Array.isArray(options) ? "an array" : options === null ? "null" : `a ${typeof options}`;
    throw invalid(`the options of ${what} are ${given}`, `Pass an object. It may have ${list()}.`);
  }
  const unknown = Object.keys(options).find((option) => !taken.includes(option));
  if (unknown === undefined) return;
  throw invalid(`${what} has no option ${JSON.stringify(unknown)}`, `Its options are ${list()}.${nearest(unknown)}`);
}

/** The options that people know from other engines. */
function nearest(option: string): string {
  if (/^(retries|attempts|max_?(attempts|retries))$/i.test(option)) return " Write { retry: { maxAttempts: 3 } }.";
  if (/^(signal|timeout_?ms|timeout_?in_?ms)$/i.test(option)) return ' Write { timeout: "30s" }.';
  if (/^(parallel|concurrency|limit)$/i.test(option)) return " Write { maxConcurrency: 5 }.";
  if (/^(id|idempotency_?key|dedupe_?id)$/i.test(option)) return " Write { key: … }.";
  return "";
}

export function checkFunction(what: string, given: unknown, example: string): void {
  if (typeof given === "function") return;
  const hint = `Pass a function: ${example}`;
  if (isPromise(given)) throw invalid(`${what} is a promise, which has begun already`, hint);
  throw invalid(`${what} is no function`, hint);
}

/** Checks the branches of `all` and `race`. */
export function checkBranches(what: string, list: unknown): void {
  const example = '({ step }) => step.run("name", …)';
  if (!Array.isArray(list)) throw invalid(`the branches of ${what} are no array`, `Pass an array of ${example}.`);
  for (const [index, branch] of list.entries()) checkFunction(`branch ${index} of ${what}`, branch, example);
}

/**
 * Checks that the contract declares this signal or callback. Nobody could send another one, so it would be waited for
 * in vain.
 */
export function checkIsDeclared(kind: "signal" | "callback", name: unknown, declared: readonly string[]): void {
  if (typeof name === "string" && declared.includes(name)) return;
  const known = declared.length === 0 ? `no ${kind}s` : declared.map((one) => JSON.stringify(one)).join(", ");
  throw new LayoverError(
    kind === "signal" ? "unknown_signal" : "unknown_callback",
    `the contract has no ${kind} ${JSON.stringify(name)}`,
    { hint: `It has ${known}. Declare it in the contract, under "${kind}s".` },
  );
}

export function invalid(message: string, hint: string): LayoverError {
  return new LayoverError("invalid_request", message, { hint });
}

function isPromise(given: unknown): boolean {
  return typeof given === "object" && given !== null && "then" in given && typeof given.then === "function";
}
