/**
 * The OpenAPI document of a deployment, at `GET /openapi.json`.
 *
 *   import { openapi } from "layover/openapi";
 *   serve({ workflows, openapi: openapi() });
 *
 * It names the workflows and shows the shape of what they take and give. That is for those who have an API key, whatever
 * its scopes. Nobody else gets it, unless it is public. A deployment that does not mount it loads none of this.
 */
import { respondTo } from "../respond.ts";
import type { Route } from "../route.ts";
import { type DocumentOptions, openApiDocument } from "./document.ts";
import type { MountOpenApi } from "./mount.ts";

export interface OpenApiOptions extends DocumentOptions {
  /** Whether everybody may read it, without an API key. Default: no. */
  readonly public?: boolean | undefined;
}

export type { MountOpenApi };

/**
 * Mounts the document.
 *
 * @example serve({ workflows, openapi: openapi({ public: true }) });
 */
export function openapi({ public: isPublic = false, ...options }: OpenApiOptions = {}): MountOpenApi {
  return ({ routes, contracts }) => {
    const route: Route = {
      method: "GET",
      path: "/openapi.json",
      ...(!isPublic && { scope: [] }),
      answer: async ({ request, client }) => {
        // No verb follows that would find out that the key was revoked.
        if (!isPublic) await client.list({ limit: 1 });
        const { pathname } = new URL(request.url);
        const url = options.url ?? (pathname.replace(/\/openapi\.json$/, "") || "/");
        return respondTo(request, openApiDocument({ routes: [...routes, route], contracts }, { ...options, url }));
      },
    };
    return route;
  };
}
