/** What layover carries out here: steps that do nothing, in a row or side by side, and a wait. */
import * as z from "zod";
import { type Workflow, workflow } from "../../src/core/contract/contract.ts";
import type { Body } from "./contender.ts";

const manners = ["in a row", "map", "Promise.all"] as const;
export type Manner = (typeof manners)[number];

export const trivial = workflow({
  name: "trivial",
  version: 1,
  input: z.object({ steps: z.number(), manner: z.enum(manners) }),
});

export const signalled = workflow({ name: "signalled", version: 1, signals: { go: z.number() } });

/** What the workflows do at each step and at their end, and what went wrong. */
export interface Work {
  body: Body;
  ended: () => void;
  failure: unknown;
}

export function handlersOf(work: Work): readonly Workflow[] {
  return [
    trivial.handler(async ({ input: { steps, manner }, step }) => {
      const counts = Array.from({ length: steps }, (_, count) => count);
      if (manner === "map")
        await step.map("each", counts, (count, { step }) => step.run("step", () => work.body(count)));
      else if (manner === "Promise.all")
        await Promise.all(counts.map((count) => step.run("step", () => work.body(count))));
      else for (const count of counts) await step.run("step", () => work.body(count));
      work.ended();
    }),
    signalled.handler(async ({ step }) => step.waitForSignal("go")),
  ];
}
