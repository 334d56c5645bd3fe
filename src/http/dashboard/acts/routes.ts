/**
 * What the buttons of the dashboard do. Each is a verb of the client, with the id that its form was given, so that it may be
 * sent twice. What a person does is kept under the name of the person's key, but for the resume and the delete of a schedule.
 */
import type { FieldErrors } from "../../callback-form.ts";
import { respondTo } from "../../respond.ts";
import type { Route } from "../../route.ts";
import type { DashboardTerms } from "../mount.ts";
import { privately, type Screens } from "../screens.ts";
import type { Act, ActRoute } from "./act.ts";
import { operationActs, scheduleActs } from "./operations.ts";
import { repairActs } from "./repairs.ts";
import { callbackActs, startActs } from "./starts-and-answers.ts";
import { Texts } from "./texts.ts";

export function actRoutes(terms: DashboardTerms, { act }: Screens): readonly Route[] {
  const route: ActRoute = (path, scope, does) =>
    act(path, scope, async (visit) => {
      const done = await does(visit, await Texts.of(visit.request, terms.maxBytes));
      return privately("errors" in done ? refused(visit.request, done.errors) : respondTo(visit.request, done));
    });
  return [
    ...operationActs(route),
    ...scheduleActs(route),
    ...startActs(route, terms),
    ...callbackActs(route, terms),
    ...repairActs(route, terms),
    ...deliveryActs(route, terms),
  ];
}

function deliveryActs(route: ActRoute, { webhooks }: DashboardTerms): readonly Route[] {
  const replay = webhooks.find(({ path }) => path === "/v1/webhooks/:name/deliveries/:id/replay");
  return replay === undefined ? [] : [route("deliveries/:name/:id/replay", "admin", replaying(replay))];
}

/** Plays a delivery again as the route of webhooks does. */
function replaying(replay: Route): Act {
  return async (visit, texts) => {
    const reason = texts.of("reason");
    const body = JSON.stringify({ by: visit.caller.name, ...(reason !== undefined && { reason }) });
    const headers = { "content-type": "application/json" };
    const request = new Request(visit.request.url, { method: "POST", body, headers });
    const answer: unknown = await (await replay.answer({ ...visit, request })).json();
    const outcome = typeof answer === "object" && answer !== null && "outcome" in answer ? String(answer.outcome) : "";
    return { said: `The delivery was played again: ${outcome}.` };
  };
}

function refused(request: Request, errors: FieldErrors): Response {
  const whole = errors.get("") ?? "Nothing was sent yet: look at what is marked";
  const fields = Object.fromEntries([...errors].filter(([name]) => name !== ""));
  return respondTo(
    request,
    { code: "invalid_payload", detail: whole.replace(/\.$/, ""), errors: fields },
    { status: 422 },
  );
}
