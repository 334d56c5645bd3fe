/** Everything that a host serves: the app under its prefix, and a problem document at every other path. */
import type { MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { Hono } from "hono/tiny";
import { type AppOptions, createApp, notFound } from "./app.ts";
import { dashboardPath } from "./dashboard/mount.ts";

/** The other websites that may call from a browser, with an API key or a callback's token of their own. */
export interface CorsOptions {
  /** One website, such as `https://shop.example.com`, or several. `"*"`: every website. */
  readonly origin: string | readonly string[];
  /**
   * Whether browsers send cookies along, for an `authenticate` that reads them. The origin `"*"` does not allow it.
   * Default: false.
   */
  readonly credentials?: boolean | undefined;
}

export interface SiteOptions extends AppOptions {
  /** The prefix of every path: `/layover`. */
  readonly prefix: string;
  /** The websites that may read the answers in a browser. Default: none. */
  readonly cors?: CorsOptions | undefined;
  /**
   * Answers a request for the prefix itself, as when somebody opens it in a browser. Default: a problem document, as
   * for any unknown path.
   */
  readonly home?: (() => Response) | undefined;
}

/** Makes the site. @throws LayoverError `invalid_name`, for the namespace */
export function createSite({ prefix, cors: allowed, home, ...options }: SiteOptions): Hono {
  const site = new Hono();
  if (allowed !== undefined) site.use(`${prefix}/*`, exceptDashboard(prefix, cors(corsTerms(allowed))));
  if (home !== undefined) site.get(`${prefix}/`, home);
  site.route(prefix, createApp(options));
  site.notFound(notFound);
  return site;
}

/** Leaves the dashboard's pages to those who open them: no script of another website reads them. */
function exceptDashboard(prefix: string, allow: MiddlewareHandler): MiddlewareHandler {
  const root = `${prefix}${dashboardPath}`;
  return async (context, next) => {
    const { path } = context.req;
    return path === root || path.startsWith(`${root}/`) ? await next() : await allow(context, next);
  };
}

function corsTerms({ origin, credentials = false }: CorsOptions) {
  return {
    origin: typeof origin === "string" ? origin : [...origin],
    credentials: credentials && origin !== "*",
    allowMethods: ["GET", "HEAD", "POST", "DELETE"],
    allowHeaders: ["authorization", "content-type", "idempotency-key", "traceparent"],
    exposeHeaders: ["location", "retry-after"],
    maxAge: 600,
  };
}
