/** What holds, goes on or ends: a run, all runs of a workflow, a schedule. */
import type { Route } from "../../route.ts";
import { counted } from "../values.ts";
import { type ActRoute, asked } from "./act.ts";

export function operationActs(route: ActRoute): readonly Route[] {
  return [
    ...(["pause", "resume", "cancel", "terminate", "delete"] as const).map((verb) =>
      route(`runs/:id/${verb}`, "admin", async ({ client, param, caller }, texts) => {
        const { outcome } = await client[verb](param("id"), { ...asked(texts), by: caller.name });
        return outcome === "deleted" ? { to: "" } : { said: `The run is ${outcome}.` };
      }),
    ),
    ...(["pause", "resume"] as const).map((verb) =>
      route(`workflows/:name/${verb}`, "admin", async ({ client, param, caller }, texts) => {
        const page = await client.changeWorkflowPage(verb, param("name"), {
          ...asked(texts),
          by: caller.name,
          limit: 500,
        });
        const more = page.cursor === undefined ? "" : " There are more of them: go on in a terminal, by npx layover.";
        return { said: `The workflow is ${verb}d, and ${counted(page.runs, "run")} with it.${more}` };
      }),
    ),
  ];
}

export function scheduleActs(route: ActRoute): readonly Route[] {
  return [
    route("schedules/:name/pause", "admin", async ({ client, param, caller }, texts) => {
      await client.schedules.pause(param("name"), { reason: texts.of("reason"), by: caller.name });
      return { said: "The schedule is paused." };
    }),
    route("schedules/:name/resume", "admin", async ({ client, param }) => {
      await client.schedules.resume(param("name"));
      return { said: "The schedule is resumed." };
    }),
    route("schedules/:name/trigger", "admin", async ({ client, param, caller }, texts) => {
      const options = { reason: texts.of("reason"), by: caller.name, runId: texts.of("call") };
      const { runId } = await client.schedules.trigger(param("name"), options);
      return { to: `runs/${runId}` };
    }),
    route("schedules/:name/delete", "admin", async ({ client, param }) => {
      await client.schedules.delete(param("name"));
      return { to: "schedules" };
    }),
  ];
}
