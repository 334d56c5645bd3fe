/**
 * What the buttons of the dashboard do. Each is a verb of the client, with the id that its form was given, so that it may be
 * sent twice. What a person does is kept under the name of the person's key.
 */
import type { Contract } from "../../../core/contract/contract.ts";
import type { Schema } from "../../../core/contract/schema.ts";
import { parseJson } from "../../body.ts";
import type { FieldErrors } from "../../callback-form.ts";
import { respondTo } from "../../respond.ts";
import type { Route } from "../../route.ts";
import { callbackOf } from "../../run-callbacks.ts";
import type { DashboardTerms } from "../mount.ts";
import { payloadIn } from "../payload.ts";
import { type DashboardVisit, privately, type Screens } from "../screens.ts";
import { counted } from "../values.ts";
import { Texts } from "./texts.ts";

/** What is told of an act that was done: a sentence, and maybe another page to look at. */
interface Done {
  readonly said?: string;
  /** The page, relative to the dashboard's root. */
  readonly to?: string;
}

type Act = (visit: DashboardVisit, texts: Texts) => Promise<Done | { readonly errors: FieldErrors }>;

export function actRoutes(terms: DashboardTerms, { act }: Screens): readonly Route[] {
  const { maxBytes, contracts, webhooks } = terms;
  const route = (path: string, scope: NonNullable<Route["scope"]>, does: Act): Route =>
    act(path, scope, async (visit) => {
      const done = await does(visit, await Texts.of(visit.request, maxBytes));
      return privately("errors" in done ? refused(visit.request, done.errors) : respondTo(visit.request, done));
    });
  const operations = (["pause", "resume", "cancel", "terminate", "delete"] as const).map((verb) =>
    route(`runs/:id/${verb}`, "admin", async ({ client, param, caller }, texts) => {
      const { outcome } = await client[verb](param("id"), { ...asked(texts), by: caller.name });
      return outcome === "deleted" ? { to: "" } : { said: `The run is ${outcome}.` };
    }),
  );
  const ofWorkflows = (["pause", "resume"] as const).map((verb) =>
    route(`workflows/:name/${verb}`, "admin", async ({ client, param, caller }, texts) => {
      const page = await client.changeWorkflowPage(verb, param("name"), {
        ...asked(texts),
        by: caller.name,
        limit: 500,
      });
      const more = page.cursor === undefined ? "" : " There are more of them: go on in a terminal, by npx layover.";
      return { said: `The workflow is ${verb}d, and ${counted(page.runs, "run")} with it.${more}` };
    }),
  );
  const ofSchedules = (["pause", "resume"] as const).map((verb) =>
    route(`schedules/:name/${verb}`, "admin", async ({ client, param, caller }, texts) => {
      await client.schedules[verb](param("name"), { reason: texts.of("reason"), by: caller.name });
      return { said: `The schedule is ${verb}d.` };
    }),
  );
  const replay = webhooks.find(({ path }) => path === "/v1/webhooks/:name/deliveries/:id/replay");
  return [
    ...operations,
    ...ofWorkflows,
    ...ofSchedules,
    route("schedules/:name/trigger", "admin", async ({ client, param, caller }, texts) => {
      const options = { reason: texts.of("reason"), by: caller.name, runId: texts.of("call") };
      const { runId } = await client.schedules.trigger(param("name"), options);
      return { to: `runs/${runId}` };
    }),
    route("schedules/:name/delete", "admin", async ({ client, param, caller }, texts) => {
      await client.schedules.delete(param("name"), { reason: texts.of("reason"), by: caller.name });
      return { to: "schedules" };
    }),
    route("workflows/:name/start", "start", async ({ client, param }, texts) => {
      const version = texts.number("version");
      const contract =
        version === undefined ? contracts.newest(param("name")) : contracts.exactly(param("name"), version);
      const filled = await payloadIn(texts.all, contract.input);
      if ("errors" in filled) return filled;
      const options = {
        id: texts.of("id"),
        delay: texts.duration("delay"),
        tags: texts.tags("tags"),
        runId: texts.of("call"),
      };
      const { runId } = await client.start(contract, filled.value, options);
      return { to: `runs/${runId}` };
    }),
    route("runs/:id/signal", "signal", async ({ client, param }, texts) => {
      const contract = await contractOf(client, param("id"), terms);
      const name = texts.needed("name");
      const filled = await payloadIn(texts.all, own(contract.signals, name));
      if ("errors" in filled) return filled;
      const { outcome } = await client.signal(param("id"), name, filled.value, {
        contract,
        signalId: texts.of("call"),
      });
      return { said: outcome === "sent" ? "The signal was sent." : "That signal had come before." };
    }),
    route("runs/:id/resolve", "callbacks", async ({ client, param }, texts) => {
      const { ref, workflow, version, name } = await namedCallback({ client, param }, texts);
      const contract = contracts.closest(workflow, version);
      const filled = await payloadIn(texts.all, own(contract.callbacks, name));
      if ("errors" in filled) return filled;
      await client.callbacks.resolve(ref, filled.value, contract);
      return { said: "The answer was sent." };
    }),
    route("runs/:id/reject", "callbacks", async ({ client, param }, texts) => {
      const { ref } = await namedCallback({ client, param }, texts);
      await client.callbacks.reject(ref, { message: texts.of("reason") ?? "rejected without a reason" });
      return { said: "The rejection was sent." };
    }),
    route("runs/:id/retry", "admin", async ({ client, param, caller }, texts) => {
      const { kept } = await client.retry(param("id"), {
        ...asked(texts),
        by: caller.name,
        epoch: texts.number("epoch"),
      });
      return { said: `The run goes on, with ${counted(kept, "record")} of before.` };
    }),
    route("runs/:id/restart", "admin", async ({ client, param, caller }, texts) => {
      const input = await anotherInput(client, param("id"), texts, terms);
      const options = {
        ...asked(texts),
        by: caller.name,
        epoch: texts.number("epoch"),
        from: texts.of("from"),
        ...input,
      };
      if (texts.of("dryRun") !== undefined) {
        const { kept, dropped } = await client.planRestart(param("id"), options);
        return { said: `A restart would keep ${counted(kept, "record")} and drop ${dropped}. Nothing was done.` };
      }
      const { kept, dropped } = await client.restart(param("id"), options);
      return {
        said: `The run begins again, with ${counted(kept, "record")} of before, and without ${counted(dropped, "later one")}.`,
      };
    }),
    route("runs/:id/fork", "admin", async ({ client, param }, texts) => {
      const input = await anotherInput(client, param("id"), texts, terms);
      const { runId } = await client.fork(param("id"), {
        epoch: texts.number("epoch"),
        from: texts.of("from"),
        id: texts.of("id"),
        newRunId: texts.of("call"),
        ...input,
      });
      return { to: `runs/${runId}` };
    }),
    ...(replay === undefined ? [] : [route("deliveries/:name/:id/replay", "admin", replaying(replay))]),
  ];
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

function asked(texts: Texts): { readonly reason: string | undefined; readonly callId: string | undefined } {
  return { reason: texts.of("reason"), callId: texts.of("call") };
}

async function namedCallback({ client, param }: Pick<DashboardVisit, "client" | "param">, texts: Texts) {
  const name = texts.needed("name");
  return await callbackOf({ client, param: (part) => (part === "name" ? name : param(part)) });
}

async function contractOf(
  client: DashboardVisit["client"],
  runId: string,
  { contracts }: DashboardTerms,
): Promise<Contract> {
  const { workflow, version } = await client.get(runId);
  return contracts.closest(workflow, version);
}

async function anotherInput(
  client: DashboardVisit["client"],
  runId: string,
  texts: Texts,
  terms: DashboardTerms,
): Promise<{ readonly input: unknown; readonly contract: Contract } | undefined> {
  const text = texts.of("input");
  if (text === undefined) return undefined;
  return { input: parseJson(text, "the input"), contract: await contractOf(client, runId, terms) };
}

function own(schemas: Readonly<Record<string, Schema>>, name: string): Schema | undefined {
  return Object.hasOwn(schemas, name) ? schemas[name] : undefined;
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
