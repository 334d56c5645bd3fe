/**
 * The pages behind a callback's URL, for whoever opens it in a browser. They load nothing from anywhere and run no
 * script. Mail scanners open links, so a page only asks; answering takes a click.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { html, raw } from "hono/html";
import type { CallbackView } from "../client/mail.ts";
import { toBase64 } from "../core/base64.ts";
import type { LayoverError } from "../core/errors.ts";
import { ownForm } from "./callback-form.ts";
import type { Field } from "./callback-form-fields.ts";
import { type FilledForm, inputsOf } from "./callback-form-inputs.ts";
import { look } from "./look.ts";
import { errorHeaders, statusOf } from "./problem.ts";

type Html = ReturnType<typeof html>;

const style = `${look}
main { max-width: 36rem; margin: clamp(1rem, 8vh, 5rem) auto; padding: clamp(1.25rem, 5vw, 2.5rem); background: var(--paper); border: 1px solid var(--line); border-radius: .75rem; }
@media (max-width: 38rem) { main { margin: 0; border: 0; border-radius: 0; min-height: 100vh; } }
h1 { font-size: 1.625rem; line-height: 1.25; margin: 0 0 1rem; }
.text { white-space: pre-line; }
form { margin: 1.5rem 0; }
details { border-top: 1px solid var(--line); padding-top: 1rem; }
footer { margin-top: 2rem; font-size: .875rem; color: var(--soft); }`;

const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${toBase64(sha256(utf8ToBytes(style)))}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The headers of every answer to a callback's URL. They keep the URL out of caches and logs, since it is a secret. */
export const callbackHeaders: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-robots-tag": "noindex, nofollow",
  "x-content-type-options": "nosniff",
  "content-security-policy": contentSecurityPolicy,
};

export interface AskPage {
  readonly callback: Pick<CallbackView, "name" | "workflow" | "version" | "title" | "text"> & {
    readonly deadline?: Date | undefined;
  };
  /** The address that the form is sent to, relative to the page. */
  readonly resolveAction: string;
  readonly rejectAction: string;
  /** The fields to fill in. Undefined: the answer is written as JSON. */
  readonly fields: readonly Field[] | undefined;
  /** What was filled in before, and what was wrong with it. */
  readonly form?: FilledForm;
  readonly error?: LayoverError;
}

const empty: FilledForm = { filled: new Map(), errors: new Map() };

/** Asks for the answer. */
export function askPage({
  callback,
  resolveAction,
  rejectAction,
  fields,
  form = empty,
  error,
}: AskPage): Promise<Response> {
  const { name, workflow, version, title, text, deadline } = callback;
  const payload = form.filled.get("payload")?.[0];
  const isJson = fields === undefined || payload !== undefined;
  const status = error === undefined ? (form.errors.size > 0 ? 422 : 200) : statusOf(error);
  return page(
    title ?? `Answer “${name}”`,
    status,
    html`
    ${error === undefined ? wrongAtAll(form) : errorBox(error)}
    ${text === undefined ? html`<p>A workflow waits for your answer.</p>` : html`<p class="text">${text}</p>`}
    <form method="post" action="${resolveAction}">
      ${isJson ? jsonInput(payload ?? "{}") : html`<input type="hidden" name="${ownForm}" value="1">${inputsOf(fields, form)}`}
    </form>
    <details>
      <summary>Reject without an answer</summary>
      <form method="post" action="${rejectAction}">
        <div class="field"><label for="reason">Why <span class="quiet">(optional)</span></label>
        <input id="reason" name="reason" autocomplete="off" maxlength="1000"></div>
        <button>Reject</button>
      </form>
    </details>
    <footer>
      <dl>
        <dt>Workflow</dt><dd>${workflow}, version ${version}</dd>
        ${deadline === undefined ? "" : html`<dt>Answer until</dt><dd>${time(deadline)}</dd>`}
      </dl>
      <p>The first answer counts. Opening this page answers nothing.</p>
    </footer>`,
  );
}

function jsonInput(payload: string): Html {
  return html`<div class="field"><label for="payload">Your answer, as JSON</label>
      <textarea class="json" id="payload" name="payload" spellcheck="false" autocomplete="off" required>${startOfText}${payload}</textarea></div>
      <button class="primary">Send the answer</button>`;
}

function wrongAtAll({ errors }: FilledForm): Html | string {
  if (errors.size === 0) return "";
  const whole = errors.get("") ?? "Nothing was sent yet: look at what is marked below.";
  return html`<div class="error" role="alert"><p>${whole}</p></div>`;
}

/** Says what became of the callback. */
export function donePage(outcome: "resolved" | "rejected"): Promise<Response> {
  const [title, text] =
    outcome === "resolved"
      ? ["Thank you", "Your answer was sent. The workflow goes on with it."]
      : ["Rejected", "The rejection was sent. The workflow goes on with it."];
  return page(title, 200, html`<p>${text}</p><p>You can close this page.</p>`);
}

/** The page for a person who comes after the answer. */
export function answeredPage({ status, title, name }: CallbackView): Promise<Response> {
  const what = title ?? name;
  const text = status === "rejected" ? `“${what}” was rejected.` : `“${what}” was answered.`;
  return page("Already answered", 200, html`<p>${text} Nothing is left to do.</p>`);
}

export function errorPage(error: LayoverError): Promise<Response> {
  return page(headingOf(error), statusOf(error), errorBox(error), errorHeaders(error));
}

function headingOf({ code }: LayoverError): string {
  if (code === "callback_expired") return "Too late";
  if (code === "callback_conflict") return "Already answered";
  return code === "unknown_callback" ? "Nothing here" : "That did not work";
}

function errorBox({ message, hint }: LayoverError): Html {
  return html`<div class="error" role="alert"><p>${sentence(message)}</p><p>${hint}</p></div>`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function time(at: Date): Html {
  const text = at.toISOString();
  return html`<time datetime="${text}">${text.slice(0, 16).replace("T", " ")} UTC</time>`;
}

/** A browser drops the first line break in a textarea. */
const startOfText = raw("\n");

async function page(
  title: string,
  status: number,
  content: Html,
  further: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const document = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<title>${title}</title>
<style>${raw(style)}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`;
  return new Response(String(document), {
    status,
    headers: { ...further, ...callbackHeaders, "content-type": "text/html; charset=utf-8" },
  });
}
