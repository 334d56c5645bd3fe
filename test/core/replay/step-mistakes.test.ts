/** What a handler gets that uses `step` as it is not meant: a sentence that says what to write instead. */
import { expect, test } from "vitest";
import type { Step } from "../../../src/core/contract/step.ts";
import { isLayoverError } from "../../../src/core/errors.ts";
import { aHandler } from "./a-handler.ts";

const idle = async () => {};
/** As JavaScript passes it: whatever it is. */
const anything = (value: unknown) => value as never;

async function refusalOf(handle: (step: Step) => Promise<unknown>): Promise<string> {
  const { execution } = await aHandler(handle);
  const { outcome } = execution;
  if (outcome?.kind !== "threw" || !isLayoverError(outcome.error)) throw new Error("nothing was refused");
  return `${outcome.error.code}: ${outcome.error.message}. ${outcome.error.hint}`;
}

const branchHint = 'Pass a function: ({ step }) => step.run("name", …)';

test.each<[string, (step: Step) => Promise<unknown>, string]>([
  [
    "an option that a step does not have",
    (step) => step.run("x", idle, anything({ retries: 3 })),
    'invalid_request: step "x" has no option "retries". Its options are "retry", "semantics", "timeout", "key", "sensitiveKey", "sensitive", "compensate". Write { retry: { maxAttempts: 3 } }.',
  ],
  [
    "options that are none",
    (step) => step.run("x", idle, anything("30s")),
    'invalid_request: the options of step "x" are a string. Pass an object. It may have "retry", "semantics", "timeout", "key", "sensitiveKey", "sensitive", "compensate".',
  ],
  [
    "an option that retry does not have",
    (step) => step.run("x", idle, { retry: anything({ attempts: 3 }) }),
    'invalid_retry: retry has no option "attempts". Its options are "maxAttempts", "delay", "backoff", "maxDelay", "jitter".',
  ],
  [
    "an option that a wait does not have",
    (step) => step.waitForSignal("go", anything({ timeoutMs: 3 })),
    'invalid_request: the wait for signal "go" has no option "timeoutMs". Its options are "timeout", "onTimeout". Write { timeout: "30s" }.',
  ],
  [
    "an undo that is none",
    (step) => step.run("x", idle, { compensate: anything(null) }),
    'invalid_request: the options of the undo of step "x" are null. Pass an object. It may have "run", "retry", "timeout".',
  ],
  [
    "an option that an undo does not have",
    (step) => step.run("x", idle, { compensate: anything({ run: idle, retrys: 3 }) }),
    'invalid_request: the undo of step "x" has no option "retrys". Its options are "run", "retry", "timeout".',
  ],
  [
    "another end of a wait",
    (step) => step.waitForSignal("go", { onTimeout: anything("nul") }),
    'invalid_request: onTimeout of the wait for signal "go" is "nul". Use "throw" or "null".',
  ],
  [
    "an option that waitForCallback does not have",
    (step) => step.waitForCallback("approval", idle, anything({ attempts: 1 })),
    'invalid_request: callback "approval" has no option "attempts". Its options are "timeout", "onTimeout", "retry", "title", "text". Write { retry: { maxAttempts: 3 } }.',
  ],
  [
    "an option that map does not have",
    (step) => step.map("each", [1], idle, anything({ concurrency: 3 })),
    'invalid_request: map "each" has no option "concurrency". Its options are "maxConcurrency", "key", "sensitiveKey". Write { maxConcurrency: 5 }.',
  ],
  [
    "a promise for a body",
    (step) => step.run("x", anything(idle())),
    'invalid_request: the body of step "x" is a promise, which has begun already. Pass a function: () => fetch(url)',
  ],
  [
    "promises that race",
    (step) => step.race("first", anything([step.sleep("nap", "1h"), step.sleep("night", "8h")])),
    `invalid_request: branch 0 of race "first" is a promise, which has begun already. ${branchHint}`,
  ],
  [
    "promises that run side by side",
    (step) => step.all("both", anything([idle, idle()])),
    `invalid_request: branch 1 of all "both" is a promise, which has begun already. ${branchHint}`,
  ],
  [
    "branches that are no array",
    (step) => step.race("first", anything({ a: idle })),
    'invalid_request: the branches of race "first" are no array. Pass an array of ({ step }) => step.run("name", …).',
  ],
  [
    "a scope without a body",
    (step) => step.scope("refund", anything(undefined)),
    'invalid_request: the body of scope "refund" is no function. Pass a function: ({ step }) => …',
  ],
  [
    "a signal that the contract does not have",
    (step) => step.waitForSignal("adress"),
    'unknown_signal: the contract has no signal "adress". It has "go", "item". Declare it in the contract, under "signals".',
  ],
  [
    "a callback that the contract does not have",
    async (step) => step.createCallback("aproval"),
    'unknown_callback: the contract has no callback "aproval". It has "approval". Declare it in the contract, under "callbacks".',
  ],
])("a handler is refused %s", async (_, handle, refusal) => {
  expect(await refusalOf(handle)).toBe(refusal);
});

test("a step in the body of a step is refused, and the body goes on to fail", async () => {
  const { find } = await aHandler((step) => step.run("outer", () => step.run("inner", idle)));
  const { wanted } = find("outer");
  if (wanted.kind !== "step") throw new Error("outer is no step");
  const context = { attempt: 1, idempotencyKey: "k", abortSignal: new AbortController().signal };
  await expect(wanted.body(context)).rejects.toMatchObject({
    code: "nested_step",
    message: "inner was asked for in the body of step outer",
    hint: expect.stringContaining("step.scope"),
  });
});
