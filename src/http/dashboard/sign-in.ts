/**
 * Signing in: an API key is exchanged for a session. No statement is sent here: the first page that the session opens looks
 * whether its key was revoked. A link may bring the key behind its `#`, which no server and no log sees (`layover dev`
 * prints such a link). The script then fills in the form.
 */
import { html } from "hono/html";
import type { Client } from "../../client/over-postgres/client.ts";
import { translated } from "../../client/over-postgres/failure.ts";
import { LayoverError } from "../../core/errors.ts";
import { openApiKey } from "../api-key.ts";
import { readValue } from "../body.ts";
import { objectBody, optionalText } from "../fields.ts";
import { problem, shownError } from "../problem.ts";
import { respondTo } from "../respond.ts";
import type { Route } from "../route.ts";
import { checkWrite } from "./guard.ts";
import { type DashboardTerms, dashboardPath } from "./mount.ts";
import { type Html, privately, type Screens } from "./screens.ts";
import { openSession, sealSession, sessionCookie, sessionIn } from "./session.ts";

/** A key has some 400 bytes. */
const mostBytes = 16_384;

export function signInRoutes(terms: DashboardTerms, { signInPage }: Screens): readonly Route[] {
  const { publicUrl } = terms;
  const showError: NonNullable<Route["showError"]> = async (error) => privately(problem(shownError(error)));
  return [
    {
      method: "GET",
      path: `${dashboardPath}/sign-in`,
      answer: async ({ query, request }) => await signInPage(form(query.get("to") ?? ""), request),
    },
    {
      method: "POST",
      path: `${dashboardPath}/sign-in`,
      answer: async ({ request }) => {
        checkWrite(request, publicUrl);
        const body = objectBody(await readValue(request, mostBytes), ["key", "to"]);
        const key = openApiKey(terms.secrets, optionalText(body, "key")?.trim() ?? "", terms);
        if (key === undefined) throw unknownKey();
        if (!key.scopes.includes("read")) throw cannotRead();
        const cookie = sessionCookie(request, publicUrl, sealSession(key, terms, Date.now()));
        const to = ownPath(optionalText(body, "to") ?? "");
        return privately(respondTo(request, { to }, { headers: { "set-cookie": cookie } }));
      },
      showError,
    },
    {
      method: "POST",
      path: `${dashboardPath}/sign-out`,
      answer: async ({ request, client }) => {
        checkWrite(request, publicUrl);
        await endSession(request, client, terms);
        const cookie = sessionCookie(request, publicUrl, "");
        return privately(respondTo(request, { to: "sign-in" }, { headers: { "set-cookie": cookie } }));
      },
      showError,
    },
  ];
}

/** Ends the session for whoever has its cookie, also a copy of it. If that cannot be written down, the browser keeps it. */
async function endSession(request: Request, client: Client, terms: DashboardTerms): Promise<void> {
  const session = openSession(sessionIn(request, terms.publicUrl) ?? "", terms, Date.now());
  if (session === undefined) return;
  const { sessionId, endsAt } = session;
  await client.within(({ calls }) => translated(() => calls.revokeKey({ keyId: sessionId, expiresAt: endsAt })));
}

function form(to: string): Html {
  return html`<div class="narrow">
<h1>Sign in</h1>
<form data-act="sign-in" action="sign-in" method="post">
<input type="hidden" name="to" value="${ownPath(to)}">
<div class="field"><label for="key">API key</label>
<p class="note" id="key-note">It begins with lok_ and needs the scope read. What else you may do here is what its scopes say.</p>
<input id="key" name="key" type="password" autocomplete="current-password" spellcheck="false" required aria-describedby="key-note"></div>
<button class="primary">Sign in</button>
</form>
<p class="note">The session ends after 12 hours, or when the key is revoked. Make a key: <code>npx layover keys create NAME --scopes read,admin</code></p>
</div>`;
}

/** A place in the dashboard, relative to its root, and never another website. */
function ownPath(to: string): string {
  const isOwn = /^[\w-]+(\/[^/\\:]+)*$|^\?/.test(to.split("?", 1)[0] || "?") && !/[\\\s]|\/\/|\.\.|%2e/i.test(to);
  return isOwn && to.length < 2_000 ? to : "";
}

function unknownKey(): LayoverError {
  return new LayoverError("unauthorized", "this server does not accept the API key", {
    hint: "It may be expired, damaged, of another namespace or environment, or signed with another secret.",
  });
}

function cannotRead(): LayoverError {
  return new LayoverError("forbidden", "the key has not the scope read", {
    hint: "Make one that has: npx layover keys create NAME --scopes read",
    details: { scope: "read" },
  });
}
