/** The public names of `layover/cdk`. */
export type { BundleOptions } from "./bundle.ts";
export { Layover } from "./layover.ts";
export type { LayoverProps } from "./props.ts";
