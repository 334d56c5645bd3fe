/** What a route of the HTTP face is, and what it is given to answer. All of them are listed in routes.ts. */
import type { Client } from "../client/over-postgres/client.ts";
import type { Authenticate, Caller } from "./access.ts";
import type { Scope } from "./api-key.ts";

/** A request on its way to the one who answers it. */
export interface Visit {
  readonly request: Request;
  /** The client, on behalf of the caller. It refuses once the caller's API key is revoked. */
  readonly client: Client;
  /** Decoded parts of the path. */
  param(name: string): string;
  readonly query: URLSearchParams;
  /** Whether the caller may see the stacks of errors. They name files of the server. */
  readonly seesStacks: boolean;
  /** Who calls. Undefined: the route needs no scope, so nobody has asked. */
  readonly caller: Caller | undefined;
}

export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  /** The scope that an API key needs, or several. An empty list: any key will do. Left out: no key is needed. */
  readonly scope?: Scope | readonly Scope[];
  /** The scope that is needed as well if the query has `wait`: the answer then holds the run's result. */
  readonly scopeToWait?: Scope;
  /** Finds out who calls, where that is told otherwise than to the API. */
  readonly authenticate?: Authenticate;
  /** Whether it reads many rows: only a few such requests are answered at once. */
  readonly isHeavy?: true;
  answer(visit: Visit): Promise<Response>;
  /** How errors look here, where they are no problem document. */
  showError?(error: unknown, request: Request): Promise<Response>;
}
