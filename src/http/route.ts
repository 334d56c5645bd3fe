import type { Scope } from "./api-key.ts";

/** A request on its way to the one who answers it. */
export interface Visit {
  readonly request: Request;
  /** Decoded parts of the path. */
  param(name: string): string;
  readonly query: URLSearchParams;
}

export interface Route {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** What an API key needs for it. Without: anyone may come. */
  readonly scope?: Scope;
  answer(visit: Visit): Promise<Response>;
  /** How errors look here, where they are no problem document. */
  showError?(error: unknown, visit: Visit): Promise<Response>;
}
