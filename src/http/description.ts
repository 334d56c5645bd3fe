/**
 * What the OpenAPI document says of a route beside what the route itself says (its method, path and scopes). Each file
 * with routes describes them in a function of its own, which only openapi/ calls. So a deployment without the document
 * has no byte of it.
 */
import type { ErrorCode } from "../core/errors.ts";
import type { Fields } from "./fields.ts";
import type { QueryName } from "./openapi/parameters.ts";
import type { ViewName } from "./openapi/views.ts";

export interface Description {
  /** Name of the operation, as a generated client calls it. */
  readonly id: string;
  /** What it does, as a sentence. */
  readonly does: string;
  /** The parameters of the query. */
  readonly query?: readonly QueryName[];
  /** Whether the header `Idempotency-Key` counts where the body names no id. */
  readonly takesKey?: boolean;
  /** The fields of the body, as the route reads them; or what else the body is. Left out: there is none. */
  readonly body?: Fields | "AnyValue" | "Rejection" | "Delivery";
  /** What the answers hold, by their status. */
  readonly answers: Readonly<Record<number, ViewName>>;
  /** The codes of its own errors. Those that every route may answer are left out. */
  readonly problems?: readonly ErrorCode[];
  /** Whether browsers get and send pages and forms. */
  readonly hasPages?: boolean;
  /**
   * Whether the database is asked. Most are: then it may be gone, or belong to another environment. Default: it is.
   */
  readonly needsNoDatabase?: boolean;
}

/** The descriptions by method and path: `GET /v1/runs/:id`. */
export type Descriptions = Readonly<Record<string, Description>>;
