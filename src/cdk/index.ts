/** The public names of `layover/cdk`. */
export type { BundleOptions } from "./bundle.ts";
export { Layover, type LayoverProps } from "./layover.ts";
