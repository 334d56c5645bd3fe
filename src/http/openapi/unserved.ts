/** The document of a deployment that is not running: `layover openapi` writes it. */
import type { Contract } from "../../core/contract/contract.ts";
import { Contracts } from "../contracts.ts";
import { newRemembered } from "../remembered.ts";
import type { Route } from "../route.ts";
import { routesOf } from "../routes.ts";
import { type DocumentOptions, type OpenApiDocument, openApiDocument } from "./document.ts";
import { openapi } from "./index.ts";

export interface Unserved {
  readonly contracts: readonly Contract[];
  /** The routes of its webhooks. */
  readonly webhooks?: readonly Route[] | undefined;
}

export function unservedDocument({ contracts, webhooks }: Unserved, options: DocumentOptions = {}): OpenApiDocument {
  const routes = routesOf({
    contracts: new Contracts(contracts),
    maxBytes: 0, // no body is read
    answered: newRemembered().answeredCallbacks,
    webhooks,
    isClosing: () => false,
  });
  const own = openapi()({ routes, contracts });
  return openApiDocument({ routes: [...routes, own], contracts }, options);
}
