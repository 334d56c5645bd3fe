/** The size of a page, as a caller may ask for it. */
import { LayoverError } from "../core/errors.ts";

/** How many items a page may have. @throws LayoverError `invalid_request` */
export function checkLimit(limit: number, most: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= most) return limit;
  throw new LayoverError("invalid_request", `limit: ${String(limit)} is not a whole number from 1 to ${most}`, {
    hint: "Ask page by page.",
    details: { field: "limit", limit: most },
  });
}
