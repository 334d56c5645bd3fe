/**
 * API keys verify themselves: a key says what it may do, under a MAC. A wrong key is refused before any SQL.
 *
 *     lok_<base64url of {"v":1,"id","name","ns","env"?,"scopes","exp"?}>.<MAC>
 *
 * A key is accepted in its own namespace only, and if it names an environment, in that environment only. It may do what
 * its scopes say and nothing else: `admin` does not include the others.
 */
import { v7 } from "uuid";
import { fromBase64Url, toBase64Url } from "../core/base64.ts";
import { checkName, defaultEnvironment } from "../core/names.ts";
import type { Secrets } from "./secrets.ts";

export const scopes = ["start", "read", "signal", "callbacks", "export", "admin"] as const;
export type Scope = (typeof scopes)[number];

export interface ApiKey {
  readonly keyId: string;
  readonly namespace: string;
  /** The environment that it is for. Undefined: every environment accepts it. */
  readonly environment: string | undefined;
  /** The name of the key's owner. */
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt: Date | undefined;
}

export interface ApiKeyOptions {
  readonly name: string;
  readonly namespace: string;
  /** The only environment that is to accept it. Default, or if the environment has no name of its own: every one. */
  readonly environment?: string | undefined;
  readonly scopes: readonly Scope[];
  /** Default: never. */
  readonly expiresAt?: Date | undefined;
}

/** The content of a key. */
interface Payload {
  readonly v: number;
  readonly id: string;
  readonly name: string;
  readonly ns: string;
  /** The environment. An earlier release does not look at it. */
  readonly env?: string;
  readonly scopes: readonly Scope[];
  /** Epoch milliseconds. */
  readonly exp?: number;
}

const prefix = "lok_";
const keyVersion = 1;

/** Makes a new key. It is shown once and stored nowhere. */
export function createApiKey(secrets: Secrets, options: ApiKeyOptions): string {
  const { name, namespace, environment = defaultEnvironment, scopes, expiresAt } = options;
  const payload: Payload = {
    v: keyVersion,
    id: v7(),
    name: checkName(name, "the key's name"),
    ns: namespace,
    ...(environment !== defaultEnvironment && { env: environment }),
    scopes,
    ...(expiresAt !== undefined && { exp: expiresAt.getTime() }),
  };
  const text = toBase64Url(new TextEncoder().encode(JSON.stringify(payload)));
  return `${prefix}${text}.${secrets.sign("api key", text)}`;
}

interface OpenOptions {
  readonly namespace: string;
  /** The environment of the server that is shown the key. */
  readonly environment?: string | undefined;
  readonly nowMs?: number;
}

/** `nowMs` is the host's: a key is judged before the database is asked anything. Undefined for a key that does not count. */
export function openApiKey(
  secrets: Secrets,
  key: string,
  { namespace, environment = defaultEnvironment, nowMs = Date.now() }: OpenOptions,
): ApiKey | undefined {
  const { text, mac } = partsOf(key) ?? {};
  if (text === undefined || mac === undefined || !secrets.verify("api key", text, mac)) return undefined;
  const read = readApiKey(key);
  if (read === undefined || read.namespace !== namespace) return undefined;
  if (read.environment !== undefined && read.environment !== environment) return undefined;
  return read.expiresAt !== undefined && read.expiresAt.getTime() <= nowMs ? undefined : read;
}

/** What a key says of itself, whoever made it: to name it, never to let it in. Undefined for what is no key. */
export function readApiKey(key: string): ApiKey | undefined {
  const bytes = fromBase64Url(partsOf(key)?.text ?? "");
  const payload = bytes === undefined ? undefined : payloadIn(new TextDecoder().decode(bytes));
  if (payload === undefined) return undefined;
  const { id, name, ns, env, scopes: granted, exp } = payload;
  return {
    keyId: id,
    namespace: ns,
    environment: env,
    name,
    scopes: scopes.filter((scope) => granted.includes(scope)),
    expiresAt: exp === undefined ? undefined : new Date(exp),
  };
}

function partsOf(key: string): { readonly text: string; readonly mac: string } | undefined {
  const [text, mac, ...rest] = key.slice(prefix.length).split(".");
  const isOne = key.startsWith(prefix) && text !== undefined && mac !== undefined && rest.length === 0;
  return isOne ? { text, mac } : undefined;
}

function payloadIn(json: string): Payload | undefined {
  try {
    const payload: unknown = JSON.parse(json);
    return isPayload(payload) ? payload : undefined;
  } catch {
    return undefined;
  }
}

function isPayload(value: unknown): value is Payload {
  if (typeof value !== "object" || value === null) return false;
  const { v, id, name, ns, env, scopes: granted, exp }: { readonly [field in keyof Payload]?: unknown } = value;
  const isNamed = [id, name, ns].every((text) => typeof text === "string");
  if (env !== undefined && typeof env !== "string") return false;
  return v === keyVersion && isNamed && Array.isArray(granted) && (exp === undefined || typeof exp === "number");
}
