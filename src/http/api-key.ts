/**
 * API keys verify themselves: what a key may do stands in it, under a MAC. A wrong one is refused before any SQL.
 *
 *     lok_<base64url of {"v":1,"id","name","ns","scopes","exp"?}>.<MAC>
 *
 * A key counts in its own namespace. Its scopes are all that it may do: `admin` does not include the others.
 */
import { v7 } from "uuid";
import { checkName } from "../core/names.ts";
import { fromBase64Url, toBase64Url } from "./base64.ts";
import type { Secrets } from "./secrets.ts";

export const scopes = ["start", "read", "signal", "admin"] as const;
export type Scope = (typeof scopes)[number];

export interface ApiKey {
  readonly keyId: string;
  /** Whose key it is. */
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt: Date | undefined;
}

export interface ApiKeyOptions {
  readonly name: string;
  readonly namespace: string;
  readonly scopes: readonly Scope[];
  /** Default: never. */
  readonly expiresAt?: Date | undefined;
}

/** As it stands in a key. */
interface Payload {
  readonly v: number;
  readonly id: string;
  readonly name: string;
  readonly ns: string;
  readonly scopes: readonly Scope[];
  /** Epoch milliseconds. */
  readonly exp?: number;
}

const prefix = "lok_";
const keyVersion = 1;

/** A new key. It is shown once and kept nowhere. */
export function createApiKey(secrets: Secrets, { name, namespace, scopes, expiresAt }: ApiKeyOptions): string {
  const payload: Payload = {
    v: keyVersion,
    id: v7(),
    name: checkName(name, "the key's name"),
    ns: namespace,
    scopes,
    ...(expiresAt !== undefined && { exp: expiresAt.getTime() }),
  };
  const text = toBase64Url(new TextEncoder().encode(JSON.stringify(payload)));
  return `${prefix}${text}.${secrets.sign("api key", text)}`;
}

/** `nowMs` is the host's: a key is judged before the database is asked anything. Undefined for a key that does not count. */
export function openApiKey(
  secrets: Secrets,
  key: string,
  { namespace, nowMs = Date.now() }: { namespace: string; nowMs?: number },
): ApiKey | undefined {
  if (!key.startsWith(prefix)) return undefined;
  const [text = "", mac = "", ...rest] = key.slice(prefix.length).split(".");
  if (rest.length > 0 || !secrets.verify("api key", text, mac)) return undefined;
  const bytes = fromBase64Url(text);
  if (bytes === undefined) return undefined;
  // It carries our MAC, so it is what createApiKey wrote.
  const { v, id, name, ns, scopes: granted, exp } = JSON.parse(new TextDecoder().decode(bytes)) as Payload;
  if (v !== keyVersion || ns !== namespace || (exp !== undefined && exp <= nowMs)) return undefined;
  return {
    keyId: id,
    name,
    scopes: scopes.filter((scope) => granted.includes(scope)),
    expiresAt: exp === undefined ? undefined : new Date(exp),
  };
}
