/**
 * A callback's URL: GET asks (it never answers), POST answers, POST …/reject rejects. The token is the permission. Programs
 * send and get JSON; a browser sends its form and gets pages.
 */

import { type CallbackView, type Rejection, refuseUnanswered } from "../client/mail.ts";
import type { CallbackRef } from "../core/contract/callback.ts";
import type { Contract } from "../core/contract/contract.ts";
import type { Schema } from "../core/contract/schema.ts";
import { isSensitive } from "../core/contract/sensitive.ts";
import type { LayoverError } from "../core/errors.ts";
import { isForm, parseJson, readForm, readValue } from "./body.ts";
import { answerIn, type Filled, ownForm } from "./callback-form.ts";
import { fieldsOf } from "./callback-form-fields.ts";
import { answeredPage, askPage, callbackHeaders, donePage, errorPage } from "./callback-page.ts";
import type { Contracts } from "./contracts.ts";
import type { Descriptions } from "./description.ts";
import { invalidField, objectBody, optionalText } from "./fields.ts";
import { problem, shownError, statusOf } from "./problem.ts";
import type { Remembered } from "./remembered.ts";
import { respondTo } from "./respond.ts";
import type { Route, Visit } from "./route.ts";

interface CallbackTerms {
  readonly contracts: Contracts;
  readonly maxBytes: number;
  readonly answered: Remembered["answeredCallbacks"];
}

export function callbackRoutes(terms: CallbackTerms): readonly Route[] {
  const showError = showCallbackError;
  return [
    { method: "GET", path: "/callbacks/:token", answer: (visit) => ask(visit, terms), showError },
    { method: "POST", path: "/callbacks/:token", answer: (visit) => resolve(visit, terms), showError },
    { method: "POST", path: "/callbacks/:token/reject", answer: (visit) => reject(visit, terms), showError },
  ];
}

async function ask(visit: Visit, { contracts, answered }: CallbackTerms): Promise<Response> {
  const { request } = visit;
  const { callback } = await openedCallback(visit, answered);
  const { status, name } = callback;
  if (!wantsPage(request)) return respondTo(request, callback, { headers: callbackHeaders });
  if (isAnswered(callback)) return await answeredPage(callback);
  if (status === "expired" || status === "over") refuseUnanswered({ outcome: status }, name);
  const contract = contracts.find(callback.workflow, callback.version);
  return await askPage({ callback, fields: fieldsOf(contract && schemaOf(contract, callback)), ...actions(visit) });
}

async function resolve(visit: Visit, terms: CallbackTerms): Promise<Response> {
  const { contracts, maxBytes } = terms;
  const { request } = visit;
  const { callbacks } = visit.client;
  const { ref, callback } = await answerable(visit, "resolved", terms);
  const contract = contracts.closest(callback.workflow, callback.version);
  if (!isForm(request.headers)) {
    await callbacks.resolve(ref, await readValue(request, maxBytes), contract);
    return await done(request, "resolved");
  }
  const filled = await readForm(request, maxBytes * longestEscape);
  const schema = schemaOf(contract, callback);
  const fields = fieldsOf(schema);
  const isHidden = isSensitive(contract, `callbacks.${callback.name}`);
  // A sensitive answer is not sent back: the person fills it in again.
  const form = { filled: isHidden ? emptied(filled) : filled, errors: new Map<string, string>() };
  const asking = { callback, fields, ...actions(visit) };
  if (filled.has(ownForm) && schema !== undefined && fields !== undefined) {
    const { value, errors } = await answerIn(filled, { fields, schema, isSensitive: isHidden });
    if (errors.size > 0) return await askPage({ ...asking, form: { ...form, errors } });
    await callbacks.resolve(ref, value, contract);
    return await done(request, "resolved");
  }
  try {
    await callbacks.resolve(ref, formValue(filled), contract);
  } catch (thrown) {
    const error = shownError(thrown);
    if (!filled.has("payload") || !wantsPage(request) || !isWorthAnotherTry(error)) throw thrown;
    return await askPage({ ...asking, error, form });
  }
  return await done(request, "resolved");
}

/** The same form with nothing in it. */
function emptied(filled: Filled): Filled {
  return new Map(filled.has("payload") ? [["payload", [""]]] : []);
}

/** The callback's schema. Undefined: the contract has no such callback any more. */
function schemaOf({ callbacks }: Contract, { name }: CallbackView): Schema | undefined {
  return Object.hasOwn(callbacks, name) ? callbacks[name] : undefined;
}

async function reject(visit: Visit, terms: CallbackTerms): Promise<Response> {
  const { maxBytes } = terms;
  const { client, request } = visit;
  const { ref } = await answerable(visit, "rejected", terms);
  const reason = isForm(request.headers)
    ? { message: (await readForm(request, maxBytes)).get("reason")?.[0]?.trim() || noReason }
    : givenReason(await readValue(request, maxBytes));
  await client.callbacks.reject(ref, reason);
  return await done(request, "rejected");
}

/** A callback whose token was verified. */
interface OpenedCallback {
  readonly ref: CallbackRef;
  readonly callback: CallbackView;
}

/**
 * Opens the token in the path and finds its callback. Once it is answered, it stays so.
 *
 * @throws LayoverError `unknown_callback`, `callback_expired`
 */
async function openedCallback(
  { client: { callbacks }, param }: Visit,
  answered: CallbackTerms["answered"],
): Promise<OpenedCallback> {
  const token = param("token");
  const ref = callbacks.open(token);
  const callback = answered.get(token) ?? (await callbacks.read(ref));
  if (isAnswered(callback)) answered.set(token, callback);
  return { ref, callback };
}

function isAnswered({ status }: CallbackView): boolean {
  return status === "resolved" || status === "rejected";
}

/**
 * Finds the callback, if it can still have this `outcome`. It does so before the body is read, so a link that is over
 * costs one statement and nothing more.
 *
 * @throws LayoverError `callback_conflict`, `callback_expired`, `unknown_callback`
 */
async function answerable(
  visit: Visit,
  outcome: "resolved" | "rejected",
  { answered }: CallbackTerms,
): Promise<OpenedCallback> {
  const opened = await openedCallback(visit, answered);
  const { name, status } = opened.callback;
  // Whoever sends the same answer again gets the same reply. So the answer is read and compared.
  if (status === "open" || status === outcome) return opened;
  refuseUnanswered({ outcome: status === "expired" || status === "over" ? status : "conflict" }, name);
  return opened;
}

async function done(request: Request, outcome: "resolved" | "rejected"): Promise<Response> {
  return wantsPage(request) ? await donePage(outcome) : respondTo(request, { outcome }, { headers: callbackHeaders });
}

/** What one byte may take in a form: `%7B`. */
const longestEscape = 3;
const noReason = "rejected without a reason";

/**
 * Reads the reason of a rejection: the fields of an ErrorValue. The optional fields are checked later, when the
 * ErrorValue is made.
 */
export function givenReason(given: unknown): Rejection {
  const body = objectBody(given, ["name", "message", "data", "code", "cause", "stack"]);
  const name = optionalText(body, "name");
  const message = optionalText(body, "message");
  if (given !== undefined && message === undefined) throw invalidField("message", "is missing", "Say why, as a text.");
  return { ...body, message: message ?? noReason, name: name ?? "Error" };
}

/**
 * Makes a value of a form. Our own page sends the field `payload` with JSON, if it could make no form of the schema.
 * Any other form becomes an object of its fields.
 */
function formValue(form: ReadonlyMap<string, readonly string[]>): unknown {
  const payload = form.get("payload")?.[0];
  if (payload !== undefined) return parseJson(payload, "the answer");
  return Object.fromEntries([...form].map(([name, values]) => [name, fieldValue(values)]));
}

function fieldValue(values: readonly string[]): unknown {
  return values.length === 1 ? values[0] : values;
}

async function showCallbackError(thrown: unknown, request: Request): Promise<Response> {
  const error = shownError(thrown);
  return wantsPage(request) ? await errorPage(error) : withHeaders(problem(error), callbackHeaders);
}

/** Whether whoever typed the answer can put it right. */
function isWorthAnotherTry(error: LayoverError): boolean {
  return [400, 413, 422].includes(statusOf(error));
}

/** A browser that opens the link or sends its form; not a program. */
function wantsPage({ method, headers }: Request): boolean {
  const accept = headers.get("accept") ?? "";
  if (accept.includes("json") && !accept.includes("text/html")) return false;
  return method !== "POST" || isForm(headers);
}

/** Relative, so they are right under every prefix. */
function actions(visit: Visit): { resolveAction: string; rejectAction: string } {
  const hasSlash = new URL(visit.request.url).pathname.endsWith("/");
  const token = `${hasSlash ? "../" : ""}${visit.param("token")}`;
  return { resolveAction: token, rejectAction: `${token}/reject` };
}

function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}

export function callbackDescriptions(): Descriptions {
  const opening = ["unknown_callback", "callback_expired"] as const;
  const answering = [...opening, "callback_conflict", "value_too_large", "unstorable_value"] as const;
  return {
    "GET /callbacks/:token": {
      id: "getLinkedCallback",
      does: "Tells what became of a callback. The link is the permission. A browser gets a page that asks.",
      answers: { 200: "Callback" },
      problems: opening,
      hasPages: true,
    },
    "POST /callbacks/:token": {
      id: "resolveLinkedCallback",
      does: "Answers a callback. The link is the permission, and the body is the answer.",
      body: "AnyValue",
      answers: { 200: "Answered" },
      problems: [...answering, "unknown_workflow", "invalid_payload", "too_many_fields"],
      hasPages: true,
    },
    "POST /callbacks/:token/reject": {
      id: "rejectLinkedCallback",
      does: "Rejects a callback. The link is the permission.",
      body: "Rejection",
      answers: { 200: "Answered" },
      problems: [...answering, "too_many_fields"],
      hasPages: true,
    },
  };
}
