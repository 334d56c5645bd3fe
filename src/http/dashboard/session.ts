/**
 * A session of the dashboard: a cookie that says by which API key somebody has signed in, and what that key may do, under a
 * MAC. It lasts twelve hours, and never longer than its key. It is no API key, and no API key is one: each has a MAC under
 * another key. A key that is revoked ends its sessions too, and signing out ends this one: each statement of a session looks
 * for both. So a cookie that somebody has copied is worth nothing afterwards.
 *
 * The cookie's name begins with `__Host-`, so no other host and no page that came over http can set it. A browser keeps no such
 * cookie of `http://localhost`, so there it has another name, unless `publicUrl` says that the world reaches the app elsewhere, or
 * a proxy that the browser has come by https.
 */
import { parse, serialize } from "hono/utils/cookie";
import { v7 } from "uuid";
import { fromBase64Url, toBase64Url } from "../../core/base64.ts";
import { isRecord } from "../../core/codec/tag-checks.ts";
import type { Caller } from "../access.ts";
import { type ApiKey, type Scope, scopes } from "../api-key.ts";
import type { Secrets } from "../secrets.ts";

const lastsMs = 12 * 60 * 60 * 1_000;
const sessionVersion = 2;

/** Where a session counts. */
export interface SessionTerms {
  readonly secrets: Secrets;
  readonly namespace: string;
  readonly environment: string | undefined;
}

/** Makes the session of whoever has this key. */
export function sealSession({ keyId, name, scopes, expiresAt }: ApiKey, terms: SessionTerms, nowMs: number): string {
  const endsAt = Math.min(nowMs + lastsMs, expiresAt?.getTime() ?? Number.POSITIVE_INFINITY);
  const { namespace, environment = null } = terms;
  const content = { v: sessionVersion, sessionId: v7(), keyId, name, scopes, ns: namespace, env: environment, endsAt };
  const text = toBase64Url(new TextEncoder().encode(JSON.stringify(content)));
  return `${text}.${terms.secrets.sign("session", text)}`;
}

export interface OpenSession extends Caller {
  readonly sessionId: string;
  /** Epoch milliseconds of this host's clock. */
  readonly endsAt: number;
}

/** Undefined: it is no session, it is over, or it counts elsewhere. */
export function openSession(session: string, terms: SessionTerms, nowMs: number): OpenSession | undefined {
  const [text = "", mac = "", ...rest] = session.split(".");
  if (rest.length > 0 || !terms.secrets.verify("session", text, mac)) return undefined;
  const content = contentOf(text);
  if (content === undefined || content["v"] !== sessionVersion) return undefined;
  const { keyId, sessionId, name, scopes: granted, ns, env, endsAt } = content;
  const isHere = ns === terms.namespace && env === (terms.environment ?? null);
  if (!isHere || typeof endsAt !== "number" || endsAt <= nowMs) return undefined;
  if (typeof keyId !== "string" || typeof sessionId !== "string") return undefined;
  if (typeof name !== "string" || !Array.isArray(granted)) return undefined;
  return { keyId, sessionId, endsAt, name, scopes: scopes.filter((scope: Scope) => granted.includes(scope)) };
}

function contentOf(text: string): Readonly<Record<string, unknown>> | undefined {
  const bytes = fromBase64Url(text);
  if (bytes === undefined) return undefined;
  const content: unknown = JSON.parse(new TextDecoder().decode(bytes));
  return isRecord(content) ? content : undefined;
}

/** The session that a request brings. `publicUrl`: the address at which the world reaches the app. */
export function sessionIn(request: Request, publicUrl: string | undefined): string | undefined {
  const { name } = cookieOf(request, publicUrl);
  return parse(request.headers.get("cookie") ?? "", name)[name];
}

/** The header `set-cookie` that keeps a session in the browser. An empty session takes it away. */
export function sessionCookie(request: Request, publicUrl: string | undefined, session: string): string {
  const { name, isSecure } = cookieOf(request, publicUrl);
  const maxAge = session === "" ? 0 : lastsMs / 1_000;
  return serialize(name, session, { path: "/", httpOnly: true, secure: isSecure, sameSite: "Lax", maxAge });
}

/**
 * A proxy may ask for `http://localhost:3000` whatever the address that the browser has asked for (nginx does so by default). So
 * the request alone does not say that the browser is on this machine. What a proxy says counts only for the stricter cookie, so
 * nothing is gained by making it up.
 */
function cookieOf(
  { url, headers }: Request,
  publicUrl: string | undefined,
): { readonly name: string; readonly isSecure: boolean } {
  const isLocal = isOwnMachine(url) && (publicUrl === undefined || isOwnMachine(publicUrl));
  return isLocal && !hasComeByTls(headers)
    ? { name: `layover-session-${new URL(url).port}`, isSecure: false }
    : { name: "__Host-layover-session", isSecure: true };
}

/** Whether the first of several proxies has got the request by https. */
function hasComeByTls(headers: Headers): boolean {
  return /^https\b/i.test(headers.get("x-forwarded-proto") ?? "");
}

function isOwnMachine(url: string): boolean {
  const { protocol, hostname = "" } = URL.parse(url) ?? {};
  return protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
}
