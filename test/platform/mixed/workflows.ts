/** What three hosts on one database carry out: one workflow that all of them have, and one that each has alone. */
import { type Workflow, workflow } from "layover";
import * as z from "zod";

export const hosts = ["cloudflare", "aws", "node"] as const;
export type Host = (typeof hosts)[number];

/** Two builds of a host. The next one has the second version of a nap, and the first one no more. */
export type Build = "first" | "next";

/** The build that an environment variable names. */
export function buildOf(variable: string | undefined): Build {
  return variable === "next" ? "next" : "first";
}

/** The world is asked by each step, so it sees each body. */
const Input = z.object({ world: z.string() });
const Places = z.array(z.string());

/** A step, and another one at an instant, or after a signal if there is none. */
const napOf = (version: number) =>
  workflow({
    name: "nap",
    version,
    input: Input.extend({ until: z.number().optional() }),
    output: Places,
    signals: { go: z.number() },
  });
const naps = { first: napOf(1), next: napOf(2) };

/** The version of a nap that a build has. */
export function versionIn(build: Build): number {
  return naps[build].version;
}

/** A step, a signal, a step, a sleep, a step: each may be on another host. */
const hop = workflow({ name: "hop", version: 1, input: Input, output: Places, signals: { go: z.number() } });

/** The workflows that one host has alone. That of Cloudflare invokes that of AWS, which invokes that of Node. */
const own = {
  cloudflare: workflow({ name: "of-cloudflare", version: 1, input: Input, output: Places }),
  aws: workflow({ name: "of-aws", version: 1, input: Input, output: Places }),
  node: workflow({ name: "of-node", version: 1, input: Input, output: Places, signals: { go: z.number() } }),
};

/** The workflows that a build of one host carries. `here`: what its steps say of where they were carried out. */
export function workflowsOf(host: Host, build: Build = "first", here: string = host): readonly Workflow[] {
  const ask = async (world: string, path: string, key = ""): Promise<string> => {
    const response = await fetch(`${world}/${path}`, { headers: { "idempotency-key": key } });
    if (!response.ok) throw new Error(`the world has answered ${response.status}`);
    await response.text();
    return `${path} on ${here}`;
  };
  const hopping = hop.handler(async ({ input: { world }, step }) => {
    const places = [await step.run("one", ({ idempotencyKey }) => ask(world, "one", idempotencyKey))];
    await step.waitForSignal("go");
    places.push(await step.run("two", ({ idempotencyKey }) => ask(world, "two", idempotencyKey)));
    await step.sleep("nap", "1 second");
    await step.waitForSignal("go");
    places.push(await step.run("three", ({ idempotencyKey }) => ask(world, "three", idempotencyKey)));
    return places;
  });
  const napping = naps[build].handler(async ({ input: { world, until }, step, run }) => {
    const first = await step.run("before", () => ask(world, "before", run.runId));
    if (until === undefined) await step.waitForSignal("go");
    else await step.sleepUntil("nap", until);
    return [first, await step.run("after", () => ask(world, "after", run.runId))];
  });
  switch (host) {
    case "cloudflare":
      return [
        hopping,
        napping,
        own.cloudflare.handler(async ({ input, step }) => {
          const first = await step.run("first", ({ idempotencyKey }) => ask(input.world, "first", idempotencyKey));
          const inner = await step.invoke("aws", own.aws, input);
          return [
            first,
            ...inner,
            await step.run("last", ({ idempotencyKey }) => ask(input.world, "last", idempotencyKey)),
          ];
        }),
      ];
    case "aws":
      return [
        hopping,
        napping,
        own.aws.handler(async ({ input, step }) => {
          const inner = await step.invoke("node", own.node, input);
          return [
            ...inner,
            await step.run("second", ({ idempotencyKey }) => ask(input.world, "second", idempotencyKey)),
          ];
        }),
      ];
    case "node":
      return [
        hopping,
        napping,
        own.node.handler(async ({ input, step }) => {
          await step.waitForSignal("go");
          return [await step.run("third", ({ idempotencyKey }) => ask(input.world, "third", idempotencyKey))];
        }),
      ];
  }
}
