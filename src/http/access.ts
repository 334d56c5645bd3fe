/** Decides who may do what, before any SQL, and before the body is read. */
import { LayoverError } from "../core/errors.ts";
import { openApiKey, type Scope } from "./api-key.ts";
import type { Secrets } from "./secrets.ts";

/** Someone who may use the API, and what for. */
export interface Caller {
  readonly name: string;
  /** Id of the API key. It may be revoked, so every statement of this caller checks it (see check_key.sql). */
  readonly keyId?: string | undefined;
  /** Id of the dashboard's session, if the key is used by one. Every statement checks it, too. */
  readonly sessionId?: string | undefined;
  readonly scopes: readonly Scope[];
}

/** Undefined: nobody we know. */
export type Authenticate = (request: Request) => Caller | undefined | Promise<Caller | undefined>;

/** The keys that are accepted. */
export interface KeyTerms {
  readonly secrets: Secrets;
  readonly namespace: string;
  readonly environment?: string | undefined;
}

/** Accepts callers with an API key, given as `Authorization: Bearer lok_…`. */
export function byApiKey({ secrets, ...where }: KeyTerms): Authenticate {
  return (request) => {
    const key = /^Bearer +(\S+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
    return key === undefined ? undefined : openApiKey(secrets, key, where);
  };
}

/** Accepts callers whom `authenticate` knows, and those with an API key. */
export function besideApiKeys(authenticate: Authenticate, terms: KeyTerms): Authenticate {
  const byKey = byApiKey(terms);
  return async (request) => {
    const caller = await authenticate(request);
    return caller ?? byKey(request);
  };
}

/** Answers the caller, if the caller may do this. @throws LayoverError `unauthorized`, `forbidden` */
export async function authorize(
  request: Request,
  needed: readonly Scope[],
  authenticate: Authenticate,
): Promise<Caller> {
  const caller = await authenticate(request);
  if (caller === undefined) {
    const isGiven = request.headers.has("authorization");
    throw new LayoverError(
      "unauthorized",
      isGiven ? "this server does not accept the API key" : "this request needs an API key",
      {
        hint: isGiven
          ? "It may be expired, damaged, of another namespace or environment, or signed with another secret. Make a new one with `npx layover keys`."
          : "Send it as `Authorization: Bearer lok_…`. Make one with `npx layover keys`.",
      },
    );
  }
  const scope = needed.find((each) => !caller.scopes.includes(each));
  if (scope !== undefined) {
    const has = caller.scopes.length === 0 ? "none" : caller.scopes.join(", ");
    throw new LayoverError("forbidden", `this request needs the scope ${scope}, and the key has ${has}`, {
      hint: `Use a key with the scope ${scope}.`,
      details: { scope },
    });
  }
  return caller;
}
