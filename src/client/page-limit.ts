/** The size of a page, as a caller may ask for it. */
import { checkWhole } from "./whole-number.ts";

/** How many items a page may have. @throws LayoverError `invalid_request` */
export function checkLimit(limit: number, most: number): number {
  return checkWhole("limit", limit, "Ask page by page.", [1, most]);
}
