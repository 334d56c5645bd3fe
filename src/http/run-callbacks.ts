/**
 * The callbacks of a run, for the person who operates it: the link that answers one, its outcome, and the answer
 * itself. A callback is named as in the contract. If a run waits for several of that name, it is named by its place
 * (`ship[3]/approval`).
 */

import type { PendingView } from "../client/history-view.ts";
import type { CallbackView } from "../client/mail.ts";
import type { Client } from "../client/over-postgres/client.ts";
import { type CallbackRef, endOfToken } from "../core/contract/callback.ts";
import { LayoverError } from "../core/errors.ts";
import { placeIn, placeName } from "../core/replay/demand.ts";
import { readValue } from "./body.ts";
import { givenReason } from "./callbacks.ts";
import type { Contracts } from "./contracts.ts";
import type { Descriptions } from "./description.ts";
import { invalidField, shorten } from "./fields.ts";
import { respondTo } from "./respond.ts";
import type { Route, Visit } from "./route.ts";

export function runCallbackRoutes(contracts: Contracts, maxBytes: number): readonly Route[] {
  const path = "/v1/runs/:id/callbacks/:name";
  const scope = "callbacks";
  return [
    {
      method: "GET",
      path,
      scope,
      answer: async (visit) => {
        const { ref: _, ...callback } = await callbackOf(visit);
        return respondTo(visit.request, callback);
      },
    },
    {
      method: "POST",
      path: `${path}/resolve`,
      scope,
      answer: async (visit) => {
        const { client, request } = visit;
        const { ref, workflow, version } = await callbackOf(visit);
        const contract = contracts.closest(workflow, version);
        await client.callbacks.resolve(ref, await readValue(request, maxBytes), contract);
        return respondTo(request, { outcome: "resolved" });
      },
    },
    {
      method: "POST",
      path: `${path}/reject`,
      scope,
      answer: async (visit) => {
        const { client, request } = visit;
        const { ref } = await callbackOf(visit);
        await client.callbacks.reject(ref, givenReason(await readValue(request, maxBytes)));
        return respondTo(request, { outcome: "rejected" });
      },
    },
  ];
}

interface FoundCallback extends CallbackView {
  readonly runId: string;
  readonly path: string;
  readonly occurrence: number;
  /** A new link. The link that the workflow sent may end on another day, and has a title and a text. */
  readonly url: string;
  readonly ref: CallbackRef;
}

/**
 * Finds the callback.
 *
 * @throws LayoverError `unknown_run`, `unknown_callback`, `invalid_request`, `callbacks_unavailable`
 */
export async function callbackOf({ client, param }: Pick<Visit, "client" | "param">): Promise<FoundCallback> {
  const { runId, workflow, version, epoch } = await client.get(param("id"));
  const waits = await waitsOf(client, runId);
  const given = param("name");
  const wait = waitNamed(given, waits);
  const { path, occurrence } = wait ?? placeIn(given);
  const name = path.slice(path.lastIndexOf("/") + 1);
  const endsAt = endOfToken(await client.now(), wait?.until?.getTime());
  const ref = { runId, epoch: wait?.epoch ?? epoch, path, occurrence, workflow, version, name, endsAt };
  const { url } = client.callbacks.seal(ref);
  const callback = await client.callbacks.read(ref);
  if (wait === undefined && callback.status === "open") throw notWaitedFor(given, waits);
  return { runId, path, occurrence, ...callback, url, ref };
}

async function waitsOf(client: Client, runId: string): Promise<readonly PendingView[]> {
  const { pending } = await client.history(runId, { limit: 1 });
  return pending.filter(({ kind }) => kind === "callback");
}

function waitNamed(given: string, waits: readonly PendingView[]): PendingView | undefined {
  const atPlace = waits.find((wait) => placeName(wait) === given);
  if (atPlace !== undefined) return atPlace;
  const [first, ...others] = waits.filter(({ path }) => path.split("/").at(-1) === given);
  if (others.length === 0) return first;
  throw invalidField("the callback's name", `fits ${others.length + 1} waits of this run`, placesOf(waits));
}

function notWaitedFor(given: string, waits: readonly PendingView[]): LayoverError {
  const what = `the run does not wait for a callback ${JSON.stringify(shorten(given))}`;
  return new LayoverError("unknown_callback", what, { hint: placesOf(waits) });
}

const mostShown = 20;

function placesOf(waits: readonly PendingView[]): string {
  if (waits.length === 0) return "It waits for no callback. Its history tells what it did, and what it waits for.";
  const places = waits.slice(0, mostShown).map((wait) => JSON.stringify(placeName(wait)));
  return `Name one by its place. The run waits at ${places.join(", ")}.`;
}

export function runCallbackDescriptions(): Descriptions {
  const finding = ["unknown_run", "unknown_callback", "invalid_request", "callbacks_unavailable"] as const;
  const answering = ["callback_conflict", "callback_expired", "value_too_large", "unstorable_value"] as const;
  return {
    "GET /v1/runs/:id/callbacks/:name": {
      id: "getCallback",
      does: "Answers what became of a callback of a run, and makes a link that answers it.",
      answers: { 200: "RunCallback" },
      problems: finding,
    },
    "POST /v1/runs/:id/callbacks/:name/resolve": {
      id: "resolveCallback",
      does: "Answers a callback of a run. The body is the answer.",
      body: "AnyValue",
      answers: { 200: "Answered" },
      problems: [...finding, ...answering, "invalid_payload", "unknown_workflow"],
    },
    "POST /v1/runs/:id/callbacks/:name/reject": {
      id: "rejectCallback",
      does: "Rejects a callback of a run.",
      body: "Rejection",
      answers: { 200: "Answered" },
      problems: [...finding, ...answering],
    },
  };
}
