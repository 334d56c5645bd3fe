/** The functions under test. They ask a local endpoint that speaks Neon's protocol. */
import { workflow } from "layover";
import { serve } from "layover/lambda";
import { neon } from "layover/neon";
import * as z from "zod";
import { workflows as reference } from "../../functions/workflows/index.ts";
import { webhooks } from "../platform/workers/webhooks.ts";
import { workflows } from "../platform/workers/workflows.ts";

/** More steps than one invocation carries out, a wait that the queue brings, and one that has a schedule. */
const busy = workflow({ name: "busy", version: 1, signals: { go: z.string() } }).handler(async ({ step }) => {
  for (let index = 0; index < 25; index += 1) await step.run("work", () => index);
  await step.sleep("nap", "1500ms");
  await step.waitForSignal("go", { timeout: "1 hour" });
});

/** Its body leaves a promise to itself, which is rejected. */
const careless = workflow({ name: "careless", version: 1 }).handler(async ({ step }) => {
  await step.run("leave", async () => {
    void Promise.reject(new Error("nobody awaits this"));
    await new Promise((resolve) => setTimeout(resolve, 50));
    return "done";
  });
});

const fetchEndpoint = process.env["FETCH_ENDPOINT"] ?? "";

export const { http, turns, tick, forward } = serve({
  webhooks,
  workflows: [...workflows, ...reference, busy, careless],
  database: (parameter) => neon(parameter("database-url"), { fetchEndpoint }),
});
