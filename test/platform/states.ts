/** Workflows that stay in one state each until their server is killed, for dev.test.ts. Served by `layover dev`. */
import { appendFileSync, readFileSync } from "node:fs";
import * as z from "zod";
import { workflow } from "../../src/core/contract/contract.ts";

const file = process.env["LAYOVER_TEST_BODIES"] ?? "";

/** Notes that a body ran; answers how often it did so far. */
function note(body: string): number {
  appendFileSync(file, `${body}\n`);
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line === body).length;
}

/** Never ends the first time, so its server has to be killed in the middle of it. */
async function hangOnce(body: string): Promise<string> {
  if (note(body) === 1) await new Promise(() => {});
  return body;
}

function failOnce(body: string): string {
  if (note(body) === 1) throw new Error("not yet");
  return body;
}

const named = { version: 1, input: z.object({ name: z.string() }), output: z.string() };

const quick = workflow({ ...named, name: "quick" }).handler(({ input, step }) =>
  step.run("body", () => `${input.name}, time ${note(input.name)}`),
);

const slow = workflow({ ...named, name: "slow" }).handler(({ input, step }) =>
  step.run("body", () => hangOnce(input.name), { retry: { maxAttempts: 1 } }),
);

const branching = workflow({ ...named, name: "branching" }).handler(async ({ input, step }) => {
  const sides = await step.map("side", ["quick", "slow", "retried"] as const, (side, { step }) => {
    const name = `${input.name}-${side}`;
    const bodies = {
      quick: () => `time ${note(name)}`,
      slow: () => hangOnce(name),
      retried: () => failOnce(name),
    };
    return step.run("body", bodies[side], { retry: { delay: "4 seconds", jitter: false } });
  });
  return sides.join(", ");
});

const sleeping = workflow({ ...named, name: "sleeping" }).handler(async ({ input, step }) => {
  await step.run("before", () => note(`${input.name}-before`));
  await step.sleep("nap", "4 seconds");
  return await step.run("after", () => `${input.name}, time ${note(input.name)}`);
});

const retrying = workflow({ ...named, name: "retrying" }).handler(({ input, step }) =>
  step.run("body", () => failOnce(input.name), { retry: { delay: "4 seconds", jitter: false } }),
);

const waiting = workflow({ ...named, name: "waiting", signals: { go: z.string() } }).handler(
  async ({ input, step }) => {
    await step.run("before", () => note(`${input.name}-before`));
    return await step.waitForSignal("go");
  },
);

/** Forgets a promise that is rejected, and one that it has already awaited beside. */
const careless = workflow({ ...named, name: "careless" }).handler(async ({ input, step }) => {
  void Promise.reject(new Error("forgotten"));
  return await step.run("body", () => `${input.name}, time ${note(input.name)}`);
});

export default [quick, slow, branching, sleeping, retrying, waiting, careless];
