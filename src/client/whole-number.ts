/** A whole number, as a caller may give it. */
import { LayoverError } from "../core/errors.ts";

const largest = 2 ** 31 - 1;

/** `most` left out: the largest `integer` of Postgres. */
type Range = readonly [least: number, most?: number];

/** Answers the number if it is a whole one in the range. @throws LayoverError `invalid_request` */
export function checkWhole(field: string, number: number, hint: string, [least, most = largest]: Range): number {
  if (Number.isInteger(number) && number >= least && number <= most) return number;
  const why = `${field}: ${number} is not a whole number from ${least} to ${most}`;
  throw new LayoverError("invalid_request", why, { hint, details: { field, limit: most } });
}
