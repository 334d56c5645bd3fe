/** Versions of a workflow: those that made the histories, and other code of each, which is to be judged. */
import { workflow } from "layover";
import * as z from "zod";

const contractOf = (version: number) =>
  workflow({ name: "trip", version, input: z.string(), signals: { go: z.unknown() } });
export const contracts = [1, 2, 3, 4].map(contractOf);

/** The code of before: the same for each version. The input is an address that no replay may reach. */
export const before = contracts.map((contract) =>
  contract.handler(async ({ step }) => {
    await step.run("pack", () => "packed");
    await step.waitForSignal("go");
  }),
);

const [first, second, third, fourth] = [contractOf(1), contractOf(2), contractOf(3), contractOf(4)];
const fifth = contractOf(5);

/** The code that is judged: it fits, blocks, reaches out, and sets a timer. The fifth version fits those runs, and none has it. */
export const after = [
  fifth.handler(async ({ step }) => {
    await step.run("pack", () => "packed");
    await step.waitForSignal("go");
  }),
  first.handler(async ({ input, step }) => {
    await step.run("pack", async () => await (await fetch(`${input}/body`)).text());
    await step.waitForSignal("go");
  }),
  second.handler(async ({ step }) => {
    await step.run("unpack", () => "unpacked");
    await step.waitForSignal("go");
  }),
  third.handler(async ({ input, step }) => {
    await step.run("pack", () => "packed");
    await fetch(`${input}/outside`);
    await step.waitForSignal("go");
  }),
  fourth.handler(async ({ step }) => {
    await step.run("pack", () => "packed");
    await new Promise((resolve) => {
      setTimeout(resolve, 1);
    });
    await step.waitForSignal("go");
  }),
];
