/** The public names of `layover/node`. */
import { serve } from "./serve.ts";

export type { Authenticate, Caller } from "../../http/access.ts";
export type { CorsOptions } from "../../http/site.ts";
export type { CloseOptions } from "./in-process/options.ts";
export type { ProcessesOptions } from "./neighbours/door.ts";
export type { NodeOptions, NodeServer } from "./options.ts";
export { printEvent } from "./print.ts";
export { requireDatabase } from "./require-database.ts";
export { serve } from "./serve.ts";

/**
 * Serves workflows, as `serve` does.
 *
 * @deprecated Call `serve` instead. The next release has no `serveNode`.
 * @example const { url } = await serveNode({ workflows, database: pg(pool), secrets });
 */
export const serveNode: typeof serve = serve;
