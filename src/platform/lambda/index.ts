/** The public names of `layover/lambda`. */
export type { Authenticate, Caller } from "../../http/access.ts";
export type { CorsOptions } from "../../http/site.ts";
export { printEvent } from "../log/print-objects.ts";
export { type ClientOfOptions, clientOf, type WithClient } from "./client-of.ts";
export type { HttpHandler } from "./on-http.ts";
export type { LambdaContext, LambdaOptions, QueueAnswer, QueueEvent } from "./options.ts";
export type { Parameter } from "./parameters.ts";
export { type LambdaFunctions, serve } from "./serve.ts";
