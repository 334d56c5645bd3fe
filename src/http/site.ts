/** All that a host serves: the app under its prefix, and a problem document at every other path. */
import { cors } from "hono/cors";
import { Hono } from "hono/tiny";
import { type AppOptions, createApp, notFound } from "./app.ts";

/** Which other websites may call from a browser, with an API key or a callback's token of their own. */
export interface CorsOptions {
  /** `https://shop.example.com`, or several. `"*"`: every website. */
  readonly origin: string | readonly string[];
  /** Whether browsers send cookies along, for an `authenticate` that looks at them. Not with the origin `"*"`. Default: no. */
  readonly credentials?: boolean | undefined;
}

export interface SiteOptions extends AppOptions {
  /** Of every path: `/layover`. */
  readonly prefix: string;
  /** Default: browsers let no other website read what is answered. */
  readonly cors?: CorsOptions | undefined;
  /** What the prefix itself answers, for whoever opens it in a browser. Default: a problem document, as any unknown path. */
  readonly home?: (() => Response) | undefined;
}

/** @throws LayoverError `invalid_name`, for the namespace */
export function createSite({ prefix, cors: allowed, home, ...options }: SiteOptions): Hono {
  const site = new Hono();
  if (allowed !== undefined) site.use(`${prefix}/*`, cors(corsTerms(allowed)));
  if (home !== undefined) site.get(`${prefix}/`, home);
  site.route(prefix, createApp(options));
  site.notFound(notFound);
  return site;
}

function corsTerms({ origin, credentials = false }: CorsOptions) {
  return {
    origin: typeof origin === "string" ? origin : [...origin],
    credentials: credentials && origin !== "*",
    allowMethods: ["GET", "HEAD", "POST"],
    allowHeaders: ["authorization", "content-type", "idempotency-key", "traceparent"],
    exposeHeaders: ["location", "retry-after"],
    maxAge: 600,
  };
}
