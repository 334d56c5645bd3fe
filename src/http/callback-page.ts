/**
 * The pages behind a callback's URL, for whoever opens it in a browser. They load nothing from anywhere and run no
 * script. Mail scanners open links, so a page only asks; answering takes a click.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { html, raw } from "hono/html";
import type { CallbackView } from "../client/answering.ts";
import { toBase64 } from "../core/base64.ts";
import type { LayoverError } from "../core/errors.ts";
import { errorHeaders, statusOf } from "./problem.ts";

type Html = ReturnType<typeof html>;

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 36rem; margin: 4rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; }
h1, p, dd, .error { overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; }
dt { opacity: .7; }
dd { margin: 0; }
label { display: block; font-weight: 600; margin-bottom: .25rem; }
textarea, input { box-sizing: border-box; width: 100%; padding: .5rem; border: 1px solid; border-radius: .25rem; font: inherit; }
textarea { font-family: ui-monospace, monospace; min-height: 8rem; }
button { margin-top: .75rem; padding: .5rem 1rem; font: inherit; cursor: pointer; }
details { margin-top: 2rem; }
summary { cursor: pointer; }
.error { border-left: .25rem solid #c33; padding-left: 1rem; }
footer { margin-top: 3rem; font-size: .875rem; opacity: .7; }`;

const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${toBase64(sha256(utf8ToBytes(style)))}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** On every answer to a callback's URL, whatever it is. The URL is a secret. */
export const callbackHeaders: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-robots-tag": "noindex, nofollow",
  "x-content-type-options": "nosniff",
  "content-security-policy": contentSecurityPolicy,
};

export interface AskPage {
  readonly callback: Pick<CallbackView, "name" | "workflow" | "version"> & { readonly deadline?: Date | undefined };
  /** Where the forms are sent, relative to the page. */
  readonly resolveAction: string;
  readonly rejectAction: string;
  /** What was wrong with the answer before, and what it was. */
  readonly error?: LayoverError;
  readonly payload?: string;
}

/** Asks for the answer. */
export function askPage({ callback, resolveAction, rejectAction, error, payload = "{}" }: AskPage): Promise<Response> {
  const { name, workflow, version, deadline } = callback;
  return page(
    `Answer “${name}”`,
    error === undefined ? 200 : statusOf(error),
    html`
    ${error === undefined ? "" : errorBox(error)}
    <p>A workflow waits for your answer.</p>
    <dl>
      <dt>Workflow</dt><dd>${workflow}, version ${version}</dd>
      ${deadline === undefined ? "" : html`<dt>Answer until</dt><dd>${time(deadline)}</dd>`}
    </dl>
    <form method="post" action="${resolveAction}">
      <label for="payload">Your answer, as JSON</label>
      <textarea id="payload" name="payload" spellcheck="false" autocomplete="off" required>${startOfText}${payload}</textarea>
      <button>Send the answer</button>
    </form>
    <details>
      <summary>Reject instead</summary>
      <form method="post" action="${rejectAction}">
        <label for="reason">Why (optional)</label>
        <input id="reason" name="reason" autocomplete="off" maxlength="1000">
        <button>Reject</button>
      </form>
    </details>
    <footer>The first answer counts. Opening this page answers nothing.</footer>`,
  );
}

/** Says what became of the callback. */
export function donePage(outcome: "resolved" | "rejected"): Promise<Response> {
  const [title, text] =
    outcome === "resolved"
      ? ["Thank you", "Your answer was sent. The workflow goes on with it."]
      : ["Rejected", "The rejection was sent. The workflow goes on with it."];
  return page(title, 200, html`<p>${text}</p><p>You can close this page.</p>`);
}

/** For someone who comes after the answer. */
export function answeredPage(): Promise<Response> {
  return page("Already answered", 200, html`<p>This question was answered. Nothing is left to do.</p>`);
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
