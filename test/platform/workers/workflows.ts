/** What the Workers under test carry out. Their steps ask the test's own world, which sees them and may let them wait. */
import { workflow } from "layover";
import * as z from "zod";

const Input = z.object({ world: z.string(), steps: z.number().default(1) });

/** Which of several Workers this isolate is. */
export const isolate = { name: "layover" };

async function ask(world: string, path: string): Promise<string> {
  const response = await fetch(`${world}/${path}`);
  return `${path}: ${await response.text()} by ${isolate.name}`;
}

/** One step after the other. */
export const chain = workflow({ name: "chain", version: 1, input: Input, output: z.array(z.string()) }).handler(
  async ({ input, step }) => {
    const results: string[] = [];
    for (let index = 1; index <= input.steps; index += 1) {
      results.push(await step.run("link", () => ask(input.world, `link-${index}`)));
    }
    return results;
  },
);

/** Steps side by side. */
const fan = workflow({ name: "fan", version: 1, input: Input, output: z.array(z.string()) }).handler(
  async ({ input, step }) =>
    await step.map(
      "blade",
      Array.from({ length: input.steps }, (_, index) => index + 1),
      (index, { step }) => step.run("turn", () => ask(input.world, `blade-${index}`)),
    ),
);

/** A step between two waits. */
const patient = workflow({
  name: "patient",
  version: 1,
  input: Input,
  output: z.string(),
  callbacks: { answer: z.string() },
}).handler(async ({ input, step, log }) => {
  const answer = await step.waitForCallback("answer", ({ url }) => log.info("waits", { url }));
  const asked = await step.run("ask", () => ask(input.world, answer));
  await step.sleep("nap", "1 second");
  return await step.run("conclude", () => `${asked}, after a nap`);
});

const sleepy = workflow({
  name: "sleepy",
  version: 1,
  input: z.number().default(3_600_000),
  output: z.string(),
}).handler(async ({ input, step }) => {
  await step.sleep("night", input);
  return "rested";
});

const still = workflow({ name: "still", version: 1 }).handler(async () => {});

/** Its step may be one that kills whoever carries it out. */
const deadly = workflow({ name: "deadly", version: 1, input: Input, output: z.string() }).handler(
  async ({ input, step }) => await step.run("sting", () => ask(input.world, "sting")),
);

export const workflows = [chain, fan, patient, sleepy, still, deadly];
