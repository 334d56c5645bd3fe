/**
 * What all pages of the dashboard have in common: who may see them, where they stand, and how they look. Links are relative
 * to the dashboard's root, so they are right under every prefix, also behind a proxy that takes the prefix away.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { html, raw } from "hono/html";
import { toBase64Url } from "../../core/base64.ts";
import type { LayoverError } from "../../core/errors.ts";
import type { Authenticate, Caller } from "../access.ts";
import { problem, shownError, statusOf } from "../problem.ts";
import type { Route, Visit } from "../route.ts";
import { scriptName, styleName } from "./assets.ts";
import { checkRead, checkWrite } from "./guard.ts";
import { type DashboardTerms, dashboardPath } from "./mount.ts";
import { openSession, sessionCookie, sessionIn } from "./session.ts";

export type Html = ReturnType<typeof html>;

const headers: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "content-type": "text/html; charset=utf-8",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "x-robots-tag": "noindex, nofollow",
};

/** What a page shows. */
export interface Shown {
  readonly title: string;
  readonly content: Html;
  /** What changes when there is something new to see. Undefined: the page does not follow what happens. */
  readonly news?: unknown;
  readonly status?: number;
}

/** A visit of the dashboard. */
export interface DashboardVisit extends Visit {
  readonly caller: Caller;
  /** The way from the page to the dashboard's root: `./`, `../`. */
  readonly root: string;
}

export interface Screens {
  /** Makes the route of a page. `path` is that after the dashboard's root. */
  readonly page: (path: string, show: (visit: DashboardVisit) => Promise<Shown>, isHeavy?: true) => Route;
  /** Makes the route of an act, which its page's script sends. */
  readonly act: (
    path: string,
    scope: NonNullable<Route["scope"]>,
    answer: (visit: DashboardVisit) => Promise<Response>,
  ) => Route;
  /** Makes a page for somebody who has not signed in. */
  readonly signInPage: (content: Html, request: Request) => Promise<Response>;
  /** The address of the deployment's own sign-in page, if it has one. */
  readonly signIn: string | undefined;
}

interface ScreenOptions {
  readonly title: string;
  readonly signIn: string | undefined;
}

export function screens(terms: DashboardTerms, { title, signIn }: ScreenOptions): Screens {
  const { publicUrl, webhooks } = terms;
  const bySession: Authenticate = (request) => {
    const session = sessionIn(request, publicUrl);
    const caller = session === undefined ? undefined : openSession(session, terms, Date.now());
    return caller ?? terms.authenticate(request);
  };
  const frame = { title, hasDeliveries: webhooks.length > 0 };
  return {
    signIn,
    page: (path, show, isHeavy) => ({
      method: "GET",
      path: `${dashboardPath}/${path}`,
      scope: "read",
      ...(isHeavy && { isHeavy }),
      authenticate: (request) => {
        checkRead(request);
        return bySession(request);
      },
      answer: async (visit) => {
        const seen = dashboardVisit(visit, rootOf(path, visit.request));
        return await pageOf(await show(seen), { ...frame, root: seen.root, path, caller: seen.caller });
      },
      showError: async (thrown, request) => {
        const error = shownError(thrown);
        if (error.code === "unauthorized") return askToSignIn(request, path, { signIn, publicUrl });
        return await pageOf(errorShown(error), { ...frame, root: rootOf(path, request), path, caller: undefined });
      },
    }),
    act: (path, scope, answer) => ({
      method: "POST",
      path: `${dashboardPath}/${path}`,
      scope,
      authenticate: (request) => {
        checkWrite(request, publicUrl);
        return bySession(request);
      },
      answer: async (visit) => await answer(dashboardVisit(visit, rootOf(path, visit.request))),
      showError: async (thrown) => privately(problem(shownError(thrown))),
    }),
    signInPage: async (content, request) => {
      const path = "sign-in";
      return await pageOf(
        { title: "Sign in", content },
        { ...frame, root: rootOf(path, request), path, caller: undefined },
      );
    },
  };
}

/** Keeps an answer of the dashboard that is no page out of caches and other sites. */
export function privately(response: Response): Response {
  for (const [name, value] of Object.entries(headers)) {
    if (name !== "content-type") response.headers.set(name, value);
  }
  return response;
}

function dashboardVisit(visit: Visit, root: string): DashboardVisit {
  const { caller } = visit;
  if (caller === undefined) throw new TypeError("a page of the dashboard has a scope, so somebody was asked for");
  return { ...visit, caller, root };
}

/** The way from a page to the dashboard's root: from `runs/:id` it is `../`. A slash at the end of its address is one step more. */
function rootOf(path: string, { url }: Request): string {
  const hasSlash = new URL(url).pathname.endsWith("/");
  if (path === "") return hasSlash ? "./" : `.${dashboardPath}/`;
  return "../".repeat(path.split("/").length - (hasSlash ? 0 : 1)) || "./";
}

/** Sends the browser to the sign-in page, which leads back. A session that counts no more is taken away. */
function askToSignIn(
  request: Request,
  path: string,
  { signIn, publicUrl }: { readonly signIn: string | undefined; readonly publicUrl: string | undefined },
): Response {
  const { pathname, search } = new URL(request.url);
  const steps = pathname.replace(/\/+$/, "").split("/");
  const here = path === "" ? "" : steps.slice(-path.split("/").length).join("/");
  const back = `${here}${search}`;
  const to = back === "" ? "" : `?${new URLSearchParams({ to: back })}`;
  const location = signIn ?? `${rootOf(path, request)}sign-in${to}`;
  const further: Record<string, string> = { location };
  if (sessionIn(request, publicUrl) !== undefined) further["set-cookie"] = sessionCookie(request, publicUrl, "");
  return privately(new Response(null, { status: 303, headers: further }));
}

function errorShown(error: LayoverError): Shown {
  const { code, message, hint } = error;
  const heading = code.startsWith("unknown_") ? "Nothing here" : "That did not work";
  return { title: heading, content: html`<h1>${heading}</h1>${errorBox(message, hint)}`, status: statusOf(error) };
}

export function errorBox(message: string, hint: string): Html {
  const sentence = `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
  return html`<div class="error" role="alert"><p>${sentence}</p><p>${hint}</p></div>`;
}

interface Frame {
  readonly title: string;
  readonly hasDeliveries: boolean;
  readonly root: string;
  readonly path: string;
  readonly caller: Caller | undefined;
}

async function pageOf({ title, content, news, status = 200 }: Shown, frame: Frame): Promise<Response> {
  const { root, path, caller } = frame;
  const follows = news !== undefined;
  const document = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · ${frame.title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${root}assets/${styleName}">
<script src="${root}assets/${scriptName}" defer></script>
</head>
<body data-root="${root}"${raw(follows ? " data-follows" : "")}>
<a class="skip" href="#main">Skip to the content</a>
<header>
<a class="name" href="${root}">${frame.title}</a>
${caller === undefined ? "" : navigation(frame, path, caller)}
</header>
<main id="main" tabindex="-1">
<noscript><p class="error">Buttons need this page's script, and your browser runs none. Looking works without it.</p></noscript>
<p id="said" role="status"></p>
${content}
</main>
${follows ? html`<footer><p id="following" role="status"></p><button id="follow" type="button" hidden>Follow again</button></footer>` : ""}
</body>
</html>
`;
  const told = follows ? { "x-layover-news": digestOf(news) } : {};
  return new Response(String(document), { status, headers: { ...headers, ...told } });
}

function navigation({ root, hasDeliveries }: Frame, path: string, caller: Caller): Html {
  const [room = ""] = path.split("/");
  const link = (to: string, name: string, rooms: readonly string[]) =>
    html`<a href="${root}${to}"${raw(rooms.includes(room) ? ' aria-current="page"' : "")}>${name}</a>`;
  return html`<nav aria-label="Pages">
${link("", "Runs", ["", "runs"])}
${link("workflows", "Workflows", ["workflows"])}
${link("schedules", "Schedules", ["schedules"])}
${hasDeliveries ? link("deliveries", "Deliveries", ["deliveries"]) : ""}
</nav>
<form class="who" data-act="sign-out" action="${root}sign-out" method="post"><span class="quiet">${caller.name}</span> <button>Sign out</button></form>`;
}

function digestOf(news: unknown): string {
  return toBase64Url(sha256(utf8ToBytes(JSON.stringify(news)))).slice(0, 16);
}
