/** Gives the OpenAPI document to an app. A deployment that does not mount it loads nothing of it. */
import type { Contract } from "../../core/contract/contract.ts";
import type { Route } from "../route.ts";

/** What the document tells of. */
export interface DocumentTerms {
  readonly routes: readonly Route[];
  readonly contracts: readonly Contract[];
}

/** Makes the route of the document: `openapi()` of `layover/openapi`. */
export type MountOpenApi = (terms: DocumentTerms) => Route;
