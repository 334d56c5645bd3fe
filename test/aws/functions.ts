/** The functions under test. They ask a local endpoint that speaks Neon's protocol. */
import { workflow } from "layover";
import { serve } from "layover/lambda";
import { neon } from "layover/neon";
import * as z from "zod";
import { workflows as reference } from "../../functions/workflows/index.ts";
import { workflows } from "../platform/workers/workflows.ts";

/** More steps than one invocation carries out, a wait that the queue brings, and one that has a schedule. */
const busy = workflow({ name: "busy", version: 1, signals: { go: z.string() } }).handler(async ({ step }) => {
  for (let index = 0; index < 25; index += 1) await step.run("work", () => index);
  await step.sleep("nap", "1500ms");
  await step.waitForSignal("go", { timeout: "1 hour" });
});

const fetchEndpoint = process.env["FETCH_ENDPOINT"] ?? "";

export const { http, turns, tick, forward } = serve({
  workflows: [...workflows, ...reference, busy],
  database: (parameter) => neon(parameter("database-url"), { fetchEndpoint }),
});
