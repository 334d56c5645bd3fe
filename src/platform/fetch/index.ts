/** The public names of `layover/fetch`. */
export type { Authenticate, Caller } from "../../http/access.ts";
export type { CorsOptions } from "../../http/site.ts";
export { printEvent } from "../log/print-objects.ts";
export type { FetchOptions, WaitUntil } from "./options.ts";
export { type FetchHandler, serve } from "./serve.ts";
